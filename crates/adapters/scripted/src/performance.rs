//! A script, checked and ready to be played.

use std::time::Duration;

use domain::{FinishReason, Usage};
use ports::ReplyChunk;
use serde_json::Value;

use crate::script::{Failure, Script, word};

/// What is played for one message.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Performance {
    pub(crate) gate: Option<String>,
    pub(crate) first_pause: Duration,
    pub(crate) pause: Duration,
    pub(crate) lines: Lines,
    /// How many of the lines are said.
    pub(crate) said: usize,
    pub(crate) ending: Ending,
    /// Whether the engine fails when it is asked, and gives no stream.
    pub(crate) fails_at_once: bool,
}

/// What is said, delta by delta.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Lines {
    Given(Vec<String>),
    /// So many words, made when they are said.
    Words(usize),
}

/// What comes after the last delta.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    End {
        finish_reason: FinishReason,
        usage: Option<Usage>,
    },
    Failure(Failure),
    Hang,
    Panic,
}

/// The message is a JSON object and yet no script that can be followed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BadScript {
    #[error("the message is not a script")]
    Malformed(#[from] serde_json::Error),
    #[error("`deltas` and `words` exclude each other")]
    TwoTexts,
    #[error("`fail`, `hang`, `panic`, and `finishReason` or `usage` exclude each other")]
    TwoEndings,
    #[error("`failAfter` needs `fail`, and as many deltas")]
    FailsNever,
}

impl Performance {
    /// What to play for this message.
    pub(crate) fn of(message: &str) -> Result<Self, BadScript> {
        match serde_json::from_str(message) {
            Ok(script @ Value::Object(_)) => Self::follow(serde_json::from_value(script)?),
            Ok(_) | Err(_) => {
                Self::follow(Script::deltas(message.split_inclusive(char::is_whitespace)))
            }
        }
    }

    fn follow(script: Script) -> Result<Self, BadScript> {
        let ending = ending_of(&script)?;
        let lines = match (script.deltas, script.words) {
            (Some(_), Some(_)) => return Err(BadScript::TwoTexts),
            (deltas, None) => Lines::Given(deltas.unwrap_or_default()),
            (None, Some(number)) => Lines::Words(number),
        };
        let all = lines.count();
        let said = script.fail_after.unwrap_or(all);
        if said > all || (script.fail_after.is_some() && script.fail.is_none()) {
            return Err(BadScript::FailsNever);
        }
        let waits = script.gate.is_some() || script.first_pause_ms.is_some();
        Ok(Self {
            fails_at_once: script.fail.is_some()
                && all == 0
                && script.fail_after.is_none()
                && !waits,
            gate: script.gate,
            first_pause: Duration::from_millis(script.first_pause_ms.unwrap_or_default()),
            pause: Duration::from_millis(script.pause_ms.unwrap_or_default()),
            lines,
            said,
            ending,
        })
    }
}

fn ending_of(script: &Script) -> Result<Ending, BadScript> {
    let ends = script.finish_reason.is_some() || script.usage.is_some();
    match (script.fail, script.hang, script.panic, ends) {
        (Some(failure), false, false, false) => Ok(Ending::Failure(failure)),
        (None, true, false, false) => Ok(Ending::Hang),
        (None, false, true, false) => Ok(Ending::Panic),
        (None, false, false, _) => Ok(Ending::End {
            finish_reason: script.finish_reason.unwrap_or(FinishReason::Stop),
            usage: script.usage,
        }),
        _ => Err(BadScript::TwoEndings),
    }
}

impl Lines {
    fn count(&self) -> usize {
        match self {
            Self::Given(deltas) => deltas.len(),
            Self::Words(number) => *number,
        }
    }

    /// The delta at `position`, from 0.
    pub(crate) fn delta(&self, position: usize) -> ReplyChunk {
        ReplyChunk::Delta(match self {
            Self::Given(deltas) => deltas[position].clone(),
            Self::Words(_) => word(position),
        })
    }
}
