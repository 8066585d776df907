//! The ids of events, from which a client that has lost its stream continues.

use std::{fmt, str::FromStr};

use domain::TurnId;

/// The part of a turn that a client has received. Each number only grows, and depends neither on
/// how the text was cut into pieces nor on how calls and their results alternate.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Received {
    /// The length of the text, in bytes.
    pub(super) text: usize,
    /// The number of starts and ends of text messages.
    pub(super) boundaries: usize,
    /// The number of parts of tool calls: start, arguments and end.
    pub(super) calls: usize,
    /// The number of tool results.
    pub(super) results: usize,
    /// The length of the reasoning, in bytes.
    pub(super) reasoning: usize,
}

impl Received {
    /// Returns whether all of it is part of `other`.
    pub(super) const fn is_within(self, other: Self) -> bool {
        self.text <= other.text
            && self.boundaries <= other.boundaries
            && self.calls <= other.calls
            && self.results <= other.results
            && self.reasoning <= other.reasoning
    }

    /// Returns the larger of both numbers, for each.
    pub(super) fn max(self, other: Self) -> Self {
        Self {
            text: self.text.max(other.text),
            boundaries: self.boundaries.max(other.boundaries),
            calls: self.calls.max(other.calls),
            results: self.results.max(other.results),
            reasoning: self.reasoning.max(other.reasoning),
        }
    }
}

/// The id of an event: `<turn>:<bytes of text>:<boundaries>.<parts of calls>.<results>`, then `.<bytes of reasoning>`
/// if there is any.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct EventCursor {
    pub(super) turn_id: TurnId,
    pub(super) received: Received,
}

/// The error for a text that is not the id of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct MalformedCursor;

impl fmt::Display for EventCursor {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Received {
            text,
            boundaries,
            calls,
            results,
            reasoning,
        } = self.received;
        let turn_id = self.turn_id;
        write!(formatter, "{turn_id}:{text}:{boundaries}.{calls}.{results}")?;
        if reasoning > 0 {
            write!(formatter, ".{reasoning}")?;
        }
        Ok(())
    }
}

impl FromStr for EventCursor {
    type Err = MalformedCursor;

    fn from_str(text: &str) -> Result<Self, MalformedCursor> {
        let mut fields = text.splitn(3, ':');
        let mut field = || fields.next().ok_or(MalformedCursor);
        let (turn_id, text, parts) = (field()?, field()?, field()?);
        let mut parts = parts.splitn(4, '.');
        let mut part = || number(parts.next().ok_or(MalformedCursor)?);
        Ok(Self {
            turn_id: turn_id.parse().or(Err(MalformedCursor))?,
            received: Received {
                text: number(text)?,
                boundaries: part()?,
                calls: part()?,
                results: part()?,
                reasoning: parts.next().map_or(Ok(0), number)?,
            },
        })
    }
}

fn number(text: &str) -> Result<usize, MalformedCursor> {
    let is_number = text.bytes().all(|byte| byte.is_ascii_digit());
    let number = is_number.then(|| text.parse().ok()).flatten();
    number.ok_or(MalformedCursor)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TURN: &str = "019aa0c2-7f3e-7cc1-9a52-0b6d2f1c8e11";

    #[test]
    fn an_id_is_read_as_it_was_written() {
        for (end, reasoning) in [("", 0), (".9", 9)] {
            let text = format!("{TURN}:17:2.3.1{end}");
            let cursor: EventCursor = text.parse().unwrap();
            let received = Received {
                text: 17,
                boundaries: 2,
                calls: 3,
                results: 1,
                reasoning,
            };
            assert_eq!(cursor.received, received);
            assert_eq!(cursor.to_string(), text);
        }
    }

    #[test]
    fn other_texts_are_rejected() {
        for rest in [
            "",
            ":",
            ":1:",
            ":1:1.1",
            ":1:1.1.1.1.1",
            ":1:1.1.1.x",
            ":+1:1.1.1",
            ":1:1.1.x",
        ] {
            let text = format!("{TURN}{rest}");
            assert_eq!(text.parse::<EventCursor>(), Err(MalformedCursor), "{text}");
        }
        assert!("x:1:1.1.1".parse::<EventCursor>().is_err());
    }
}
