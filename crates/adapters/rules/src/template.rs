//! Replies with placeholders.

use domain::Agent;

use crate::pattern::{Captures, Pattern};

/// The maximum length of a filled reply in bytes, so that a reply that repeats the message many
/// times stays limited.
pub(crate) const MAX_REPLY_BYTES: usize = 64 * 1024;

/// A parsed reply with placeholders.
#[derive(Debug)]
pub(crate) struct Template {
    pieces: Box<[Piece]>,
}

#[derive(Debug)]
enum Piece {
    Text(Box<str>),
    Value(Value),
}

/// The value of a placeholder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Value {
    AgentName,
    AgentPersonality,
    Message,
    UserId,
    Capture(usize),
}

/// The captures that a reply may use.
#[derive(Debug, Clone, Copy)]
pub(crate) enum KnownCaptures<'a> {
    /// None: the rule has keywords, or the reply is the fallback.
    None,
    /// The groups of the pattern.
    Of(&'a Pattern),
    /// Any: the pattern is invalid, which is reported already.
    Any,
}

/// The values of placeholders.
#[derive(Debug)]
pub(crate) struct Values<'a> {
    pub(crate) agent: &'a Agent,
    pub(crate) message: &'a str,
    pub(crate) user_id: Option<&'a str>,
    pub(crate) captures: &'a Captures,
}

/// A filled reply.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct FilledReply {
    pub(crate) text: String,
    pub(crate) is_truncated: bool,
}

/// The text contains an unknown placeholder.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct UnknownPlaceholder;

/// A part of a template's text.
#[derive(Debug, PartialEq, Eq)]
enum Part<'a> {
    Text(&'a str),
    Placeholder(&'a str),
}

impl Template {
    /// Parses placeholders `{{…}}`. An unclosed one is text.
    pub(crate) fn parse(
        source: &str,
        captures: KnownCaptures<'_>,
    ) -> Result<Self, UnknownPlaceholder> {
        let piece = |part| match part {
            Part::Text(text) => Ok(Piece::Text(text.into())),
            Part::Placeholder(name) => Value::from_name(name, captures)
                .map(Piece::Value)
                .ok_or(UnknownPlaceholder),
        };
        let pieces = parts(source)
            .into_iter()
            .map(piece)
            .collect::<Result<_, _>>()?;
        Ok(Self { pieces })
    }

    /// Fills each placeholder once: inserted values are never parsed as templates.
    pub(crate) fn fill(&self, values: &Values<'_>) -> FilledReply {
        let mut reply = FilledReply::default();
        for piece in &self.pieces {
            reply.push(match piece {
                Piece::Text(text) => text,
                Piece::Value(value) => value.resolve(values),
            });
        }
        reply
    }

    /// The size in bytes.
    pub(crate) fn bytes(&self) -> usize {
        let texts = self.pieces.iter().map(|piece| match piece {
            Piece::Text(text) => text.len(),
            Piece::Value(_) => 0,
        });
        size_of_val(&*self.pieces) + texts.sum::<usize>()
    }
}

/// Returns whether the text contains a placeholder for a capture, known or not.
pub(crate) fn contains_capture(source: &str) -> bool {
    let is_capture =
        |part: &Part<'_>| matches!(part, Part::Placeholder(name) if name.starts_with("capture."));
    parts(source).iter().any(is_capture)
}

impl Value {
    fn from_name(name: &str, captures: KnownCaptures<'_>) -> Option<Self> {
        Some(match name {
            "agent.name" => Self::AgentName,
            "agent.personality" => Self::AgentPersonality,
            "message" => Self::Message,
            "user.id" => Self::UserId,
            _ => {
                let group = name.strip_prefix("capture.")?;
                Self::Capture(match captures {
                    KnownCaptures::None => return None,
                    KnownCaptures::Of(pattern) => pattern.group(group)?,
                    KnownCaptures::Any => 0,
                })
            }
        })
    }

    fn resolve<'a>(self, values: &Values<'a>) -> &'a str {
        match self {
            Self::AgentName => &values.agent.name,
            Self::AgentPersonality => &values.agent.personality,
            Self::Message => values.message,
            Self::UserId => values.user_id.unwrap_or_default(),
            Self::Capture(group) => {
                let range = values.captures.get(group).cloned().flatten();
                range.map_or("", |range| &values.message[range])
            }
        }
    }
}

impl FilledReply {
    /// Creates a reply without placeholders.
    pub(crate) fn new(text: &str) -> Self {
        let mut reply = Self::default();
        reply.push(text);
        reply
    }

    fn push(&mut self, text: &str) {
        if self.is_truncated {
            return;
        }
        let end = text.floor_char_boundary(MAX_REPLY_BYTES - self.text.len());
        self.text.push_str(&text[..end]);
        self.is_truncated = end < text.len();
    }
}

fn parts(source: &str) -> Vec<Part<'_>> {
    let mut parts = Vec::new();
    let mut rest = source;
    while let Some((text, name, after)) = next_placeholder(rest) {
        if !text.is_empty() {
            parts.push(Part::Text(text));
        }
        parts.push(Part::Placeholder(name));
        rest = after;
    }
    if !rest.is_empty() {
        parts.push(Part::Text(rest));
    }
    parts
}

/// Returns the text before the next placeholder, its name, and the rest. The first of three braces
/// in a row is text, so that a placeholder can be within braces.
fn next_placeholder(source: &str) -> Option<(&str, &str, &str)> {
    let mut open = source.find("{{")?;
    while source[open + 2..].starts_with('{') {
        open += 1;
    }
    let inside = &source[open + 2..];
    let close = inside.find("}}")?;
    Some((
        &source[..open],
        inside[..close].trim(),
        &inside[close + 2..],
    ))
}

#[cfg(test)]
mod tests {
    use std::{task::Poll, time::Duration};

    use cpu_pool::TimeSlice;
    use proptest::prelude::*;
    use rstest::rstest;

    use super::*;
    use crate::{fixture::agent, pattern::PatternMemory};

    fn fill(
        source: &str,
        captures: KnownCaptures<'_>,
        found: &Captures,
        message: &str,
    ) -> FilledReply {
        let values = Values {
            agent: &agent(),
            message,
            user_id: Some("u-1"),
            captures: found,
        };
        Template::parse(source, captures).unwrap().fill(&values)
    }

    #[rstest]
    #[case("I am {{agent.name}}.", "I am Ada.")]
    #[case("{{ agent.personality }}", "Cheerful and brief.")]
    #[case("{{user.id}}: {{message}}", "u-1: say {{agent.name}}")]
    #[case("{{{message}}}", "{say {{agent.name}}}")]
    #[case("open {{ and } shut", "open {{ and } shut")]
    #[case("{\"a\":{\"b\":1}}", "{\"a\":{\"b\":1}}")]
    #[case("", "")]
    fn each_placeholder_is_filled_once(#[case] source: &str, #[case] expected: &str) {
        let reply = fill(source, KnownCaptures::None, &vec![], "say {{agent.name}}");
        assert_eq!(reply.text, expected);
        assert!(!reply.is_truncated);
    }

    #[rstest]
    #[case("{{agent.nmae}}")]
    #[case("{{}}")]
    #[case("{{Agent.Name}}")]
    #[case("{{capture.1}}")]
    #[case("{{capture.}}")]
    #[case("fine {{message}} then {{ nothing }}")]
    fn unknown_placeholders_are_rejected(#[case] source: &str) {
        let error = Template::parse(source, KnownCaptures::None).unwrap_err();
        assert_eq!(error, UnknownPlaceholder);
    }

    #[test]
    fn only_groups_of_the_pattern_are_known() {
        let pattern = Pattern::compile(r"call me (?P<name>[a-z]+)( please)?", true).unwrap();
        let known = KnownCaptures::Of(&pattern);
        for unknown in [
            "{{capture.3}}",
            "{{capture.nam}}",
            "{{capture.+1}}",
            "{{capture.}}",
        ] {
            assert!(Template::parse(unknown, known).is_err(), "{unknown}");
        }
        let message = "Call me Bob!";
        let (mut memory, slice) = (PatternMemory::default(), TimeSlice::new(Duration::MAX));
        let Poll::Ready(Some(found)) = pattern.find(&mut memory, message, slice) else {
            panic!("the pattern matches");
        };
        let source = "{{capture.name}}/{{capture.1}}/{{capture.2}}/{{capture.0}}";
        assert_eq!(
            fill(source, known, &found, message).text,
            "Bob/Bob//Call me Bob"
        );
    }

    #[test]
    fn a_reply_that_is_too_long_is_cut_between_characters() {
        let message = "ä".repeat(30_000);
        let reply = fill(
            "x{{message}}{{message}}!",
            KnownCaptures::None,
            &vec![],
            &message,
        );
        assert!(reply.is_truncated);
        assert_eq!(reply.text.len(), MAX_REPLY_BYTES - 1);
        assert!(reply.text.ends_with('ä'));
    }

    proptest! {
        #[test]
        fn any_text_is_parsed_and_kept(source in "[{}a-z. é]{0,40}") {
            if let Ok(template) = Template::parse(&source, KnownCaptures::Any) {
                let values = Values {
                    agent: &agent(),
                    message: "m",
                    user_id: None,
                    captures: &vec![],
                };
                let reply = template.fill(&values);
                if !source.contains("{{") {
                    prop_assert_eq!(reply.text, source);
                }
            }
        }

        #[test]
        fn inserted_values_are_not_parsed(
            message in "(\\{\\{(message|agent\\.name|user\\.id)\\}\\}|[{}a-z é]){0,12}",
            before in "[a-z }]{0,8}",
            after in "[a-z ]{0,8}",
        ) {
            let source = format!("{before}{{{{message}}}}{after}{{{{message}}}}");
            let reply = fill(&source, KnownCaptures::None, &vec![], &message);
            prop_assert_eq!(reply.text, format!("{before}{message}{after}{message}"));
        }
    }
}
