//! Replies with placeholders.

use std::borrow::Cow;

use domain::{
    Agent, FinishReason,
    placeholder::{Placeholder, PlaceholderValues, TextPart, parts},
};

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
    Common(Placeholder),
    AgentPersonality,
    Message,
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
    pub(crate) common: PlaceholderValues<'a>,
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

impl Template {
    /// Parses placeholders `{{…}}`. An unclosed one is text.
    pub(crate) fn parse(source: &str, known: Placeholders<'_>) -> Result<Self, UnknownPlaceholder> {
        let piece = |part| match part {
            TextPart::Text(text) => Ok(Piece::Text(text.into())),
            TextPart::Placeholder(name) => Value::from_name(name.trim(), known)
                .map(Piece::Value)
                .ok_or(UnknownPlaceholder),
        };
        let pieces = parts(source).map(piece).collect::<Result<_, _>>()?;
        Ok(Self { pieces })
    }

    /// Fills each placeholder once: inserted values are never parsed as templates.
    pub(crate) fn fill(&self, values: &Values<'_>) -> FilledReply {
        let mut reply = FilledReply::default();
        for piece in &self.pieces {
            match piece {
                Piece::Text(text) => reply.push(text),
                Piece::Value(value) => reply.push(&value.resolve(values)),
            }
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
    parts(source).any(|part| match part {
        TextPart::Text(_) => false,
        TextPart::Placeholder(name) => name.trim().starts_with("capture."),
    })
}

impl Value {
    fn from_name(name: &str, known: Placeholders<'_>) -> Option<Self> {
        if let Some(common) = Placeholder::from_name(name) {
            return Some(Self::Common(common));
        }
        Some(match name {
            "agent.personality" => Self::AgentPersonality,
            "message" => Self::Message,
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

    fn resolve<'a>(self, values: &Values<'a>) -> Cow<'a, str> {
        let value = match self {
            Self::Common(placeholder) => return placeholder.value(&values.common),
            Self::AgentPersonality => &values.agent.personality,
            Self::Message => values.message,
            Self::Result => values.result,
            Self::Capture(group) => {
                let range = values.captures.get(group).cloned().flatten();
                range.map_or("", |range| &values.message[range])
            }
        };
        Cow::Borrowed(value)
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

#[cfg(test)]
mod tests;
