//! Replies with placeholders.

use domain::{Agent, FinishReason};

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
    Result,
}

/// The placeholders that a text may contain, besides those that all may.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Placeholders<'a> {
    pub(crate) captures: KnownCaptures<'a>,
    /// True in replies beside a call.
    pub(crate) has_result: bool,
}

/// The captures that a text may contain.
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
    /// The result of the rule's call, if it has one.
    pub(crate) result: &'a str,
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
    pub(crate) fn parse(source: &str, known: Placeholders<'_>) -> Result<Self, UnknownPlaceholder> {
        let piece = |part| match part {
            Part::Text(text) => Ok(Piece::Text(text.into())),
            Part::Placeholder(name) => Value::from_name(name, known)
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
    fn from_name(name: &str, known: Placeholders<'_>) -> Option<Self> {
        Some(match name {
            "agent.name" => Self::AgentName,
            "agent.personality" => Self::AgentPersonality,
            "message" => Self::Message,
            "user.id" => Self::UserId,
            "result" => return known.has_result.then_some(Self::Result),
            _ => {
                let group = name.strip_prefix("capture.")?;
                Self::Capture(match known.captures {
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
            Self::Result => values.result,
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

    /// The reason why the reply ended.
    pub(crate) fn finish_reason(&self) -> FinishReason {
        if self.is_truncated {
            FinishReason::Length
        } else {
            FinishReason::Stop
        }
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
mod tests;
