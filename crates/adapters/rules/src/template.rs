//! Answers with placeholders.

use domain::Agent;

use crate::pattern::{Captures, Pattern};

/// Most bytes of an answer once its placeholders are filled, so that an answer that repeats the
/// message many times cannot grow without bound.
pub(crate) const ANSWER_BYTES: usize = 64 * 1024;

/// An answer, ready to be filled in.
#[derive(Debug)]
pub(crate) struct Template {
    pieces: Box<[Piece]>,
}

#[derive(Debug)]
enum Piece {
    Text(Box<str>),
    Value(Value),
}

/// What a placeholder stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Value {
    AgentName,
    AgentPersonality,
    Message,
    UserId,
    Capture(usize),
}

/// Which captures an answer may name.
#[derive(Debug, Clone, Copy)]
pub(crate) enum KnownCaptures<'a> {
    /// None: the rule matches by keywords, or it is the answer when nothing matched.
    None,
    /// Those of the pattern.
    Of(&'a Pattern),
    /// Any: the pattern does not compile, and that is fault enough.
    Any,
}

/// What a template is filled with.
#[derive(Debug)]
pub(crate) struct Values<'a> {
    pub(crate) agent: &'a Agent,
    pub(crate) message: &'a str,
    pub(crate) user_id: Option<&'a str>,
    pub(crate) captures: &'a Captures,
}

/// An answer, and whether it had to be cut.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) text: String,
    pub(crate) is_cut: bool,
}

/// The text names a placeholder that does not exist.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct UnknownPlaceholder;

/// A stretch of a template's text.
#[derive(Debug, PartialEq, Eq)]
enum Part<'a> {
    Text(&'a str),
    Placeholder(&'a str),
}

impl Template {
    /// Reads `{{…}}`; what is opened and never closed is text.
    pub(crate) fn parse(
        source: &str,
        captures: KnownCaptures<'_>,
    ) -> Result<Self, UnknownPlaceholder> {
        let piece = |part| match part {
            Part::Text(text) => Ok(Piece::Text(text.into())),
            Part::Placeholder(name) => Value::named(name, captures)
                .map(Piece::Value)
                .ok_or(UnknownPlaceholder),
        };
        let pieces = parts(source)
            .into_iter()
            .map(piece)
            .collect::<Result<_, _>>()?;
        Ok(Self { pieces })
    }

    /// Fills the placeholders, each once: what comes in is never read as a template.
    pub(crate) fn fill(&self, values: &Values<'_>) -> Answer {
        let mut answer = Answer::default();
        for piece in &self.pieces {
            answer.push(match piece {
                Piece::Text(text) => text,
                Piece::Value(value) => value.of(values),
            });
        }
        answer
    }

    /// Bytes that the template holds.
    pub(crate) fn bytes(&self) -> usize {
        let texts = self.pieces.iter().map(|piece| match piece {
            Piece::Text(text) => text.len(),
            Piece::Value(_) => 0,
        });
        size_of_val(&*self.pieces) + texts.sum::<usize>()
    }
}

/// Whether the text names a capture, known or not.
pub(crate) fn names_a_capture(source: &str) -> bool {
    let is_capture =
        |part: &Part<'_>| matches!(part, Part::Placeholder(name) if name.starts_with("capture."));
    parts(source).iter().any(is_capture)
}

impl Value {
    fn named(name: &str, captures: KnownCaptures<'_>) -> Option<Self> {
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

    fn of<'a>(self, values: &Values<'a>) -> &'a str {
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

impl Answer {
    /// An answer that needs no filling.
    pub(crate) fn new(text: &str) -> Self {
        let mut answer = Self::default();
        answer.push(text);
        answer
    }

    fn push(&mut self, text: &str) {
        if self.is_cut {
            return;
        }
        let end = text.floor_char_boundary(ANSWER_BYTES - self.text.len());
        self.text.push_str(&text[..end]);
        self.is_cut = end < text.len();
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

/// The text before the next placeholder, its name, and what follows it. Of three braces in a row
/// the first is text, so that a placeholder can stand in braces.
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

    use cpu_pool::Slice;
    use proptest::prelude::*;
    use rstest::rstest;

    use super::*;
    use crate::{pattern::PatternMemory, samples::agent};

    fn fill(source: &str, captures: KnownCaptures<'_>, found: &Captures, message: &str) -> Answer {
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
    fn fills_each_placeholder_once(#[case] source: &str, #[case] expected: &str) {
        let answer = fill(source, KnownCaptures::None, &vec![], "say {{agent.name}}");
        assert_eq!(answer.text, expected);
        assert!(!answer.is_cut);
    }

    #[rstest]
    #[case("{{agent.nmae}}")]
    #[case("{{}}")]
    #[case("{{Agent.Name}}")]
    #[case("{{capture.1}}")]
    #[case("{{capture.}}")]
    #[case("fine {{message}} then {{ nothing }}")]
    fn refuses_what_it_does_not_know(#[case] source: &str) {
        let refusal = Template::parse(source, KnownCaptures::None).unwrap_err();
        assert_eq!(refusal, UnknownPlaceholder);
    }

    #[test]
    fn knows_the_groups_of_its_pattern_and_no_others() {
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
        let (mut memory, slice) = (PatternMemory::default(), Slice::new(Duration::MAX));
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
    fn cuts_an_answer_that_grows_too_long_between_characters() {
        let message = "ä".repeat(30_000);
        let answer = fill(
            "x{{message}}{{message}}!",
            KnownCaptures::None,
            &vec![],
            &message,
        );
        assert!(answer.is_cut);
        assert_eq!(answer.text.len(), ANSWER_BYTES - 1);
        assert!(answer.text.ends_with('ä'));
    }

    proptest! {
        #[test]
        fn never_panics_and_keeps_text_as_it_is(source in "[{}a-z. é]{0,40}") {
            if let Ok(template) = Template::parse(&source, KnownCaptures::Any) {
                let values = Values {
                    agent: &agent(),
                    message: "m",
                    user_id: None,
                    captures: &vec![],
                };
                let answer = template.fill(&values);
                if !source.contains("{{") {
                    prop_assert_eq!(answer.text, source);
                }
            }
        }

        #[test]
        fn what_comes_in_is_never_substituted_again(
            message in "(\\{\\{(message|agent\\.name|user\\.id)\\}\\}|[{}a-z é]){0,12}",
            before in "[a-z }]{0,8}",
            after in "[a-z ]{0,8}",
        ) {
            let source = format!("{before}{{{{message}}}}{after}{{{{message}}}}");
            let answer = fill(&source, KnownCaptures::None, &vec![], &message);
            prop_assert_eq!(answer.text, format!("{before}{message}{after}{message}"));
        }
    }
}
