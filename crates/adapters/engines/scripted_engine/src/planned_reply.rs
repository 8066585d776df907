//! A checked script.

use std::time::Duration;

use domain::{FinishReason, Usage};
use ports::ModelChunk;
use serde_json::Value;

use crate::script::{Failure, Script, word};

/// The plan of one reply.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct PlannedReply {
    pub(crate) gate: Option<String>,
    pub(crate) first_pause: Duration,
    pub(crate) pause: Duration,
    pub(crate) deltas: Deltas,
    /// The number of deltas that are sent.
    pub(crate) delta_count: usize,
    pub(crate) end: ReplyEnd,
    /// The request fails without a stream.
    pub(crate) fails_at_once: bool,
    /// The reasoning at the beginning of each response.
    pub(crate) reasoning: Option<String>,
    /// The functions of each round of calls before the reply.
    pub(crate) calls: Vec<Vec<String>>,
}

/// The deltas of a reply.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Deltas {
    Fixed(Vec<String>),
    /// A number of words, generated when they are sent.
    Words(usize),
}

/// The end of a reply, after the last delta.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReplyEnd {
    End {
        finish_reason: FinishReason,
        usage: Option<Usage>,
    },
    Failure(Failure),
    Hang,
    Panic,
}

/// The message is a JSON object but not a valid script.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ScriptError {
    #[error("the message is not a script")]
    Malformed(#[from] serde_json::Error),
    #[error("`deltas` and `words` cannot be combined")]
    TextConflict,
    #[error("`fail`, `hang`, `panic`, and `finishReason` or `usage` cannot be combined")]
    EndConflict,
    #[error("`failAfter` requires `fail` and at least as many deltas")]
    UnreachableFailure,
}

impl PlannedReply {
    /// Creates the plan of a message.
    pub(crate) fn from_message(message: &str) -> Result<Self, ScriptError> {
        match serde_json::from_str(message) {
            Ok(script @ Value::Object(_)) => Self::from_script(serde_json::from_value(script)?),
            Ok(_) | Err(_) => {
                Self::from_script(Script::deltas(message.split_inclusive(char::is_whitespace)))
            }
        }
    }

    fn from_script(script: Script) -> Result<Self, ScriptError> {
        let end = planned_end(&script)?;
        let planned = match (script.deltas, script.words) {
            (Some(_), Some(_)) => return Err(ScriptError::TextConflict),
            (deltas, None) => Deltas::Fixed(deltas.unwrap_or_default()),
            (None, Some(number)) => Deltas::Words(number),
        };
        let all = planned.count();
        let delta_count = script.fail_after.unwrap_or(all);
        if delta_count > all || (script.fail_after.is_some() && script.fail.is_none()) {
            return Err(ScriptError::UnreachableFailure);
        }
        let waits = script.gate.is_some() || script.first_pause_ms.is_some();
        Ok(Self {
            fails_at_once: script.fail.is_some()
                && all == 0
                && script.fail_after.is_none()
                && !waits,
            reasoning: script.reasoning,
            calls: script.calls,
            gate: script.gate,
            first_pause: Duration::from_millis(script.first_pause_ms.unwrap_or_default()),
            pause: Duration::from_millis(script.pause_ms.unwrap_or_default()),
            deltas: planned,
            delta_count,
            end,
        })
    }
}

fn planned_end(script: &Script) -> Result<ReplyEnd, ScriptError> {
    let ends = script.finish_reason.is_some() || script.usage.is_some();
    match (script.fail, script.hang, script.panic, ends) {
        (Some(failure), false, false, false) => Ok(ReplyEnd::Failure(failure)),
        (None, true, false, false) => Ok(ReplyEnd::Hang),
        (None, false, true, false) => Ok(ReplyEnd::Panic),
        (None, false, false, _) => Ok(ReplyEnd::End {
            finish_reason: script.finish_reason.unwrap_or(FinishReason::Stop),
            usage: script.usage,
        }),
        _ => Err(ScriptError::EndConflict),
    }
}

impl Deltas {
    fn count(&self) -> usize {
        match self {
            Self::Fixed(deltas) => deltas.len(),
            Self::Words(number) => *number,
        }
    }

    /// The delta at this index, from 0.
    pub(crate) fn delta(&self, index: usize) -> ModelChunk {
        ModelChunk::Text(match self {
            Self::Fixed(deltas) => deltas[index].clone(),
            Self::Words(_) => word(index),
        })
    }
}
