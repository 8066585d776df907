//! The scripts that messages contain.

use std::time::Duration;

use domain::{FinishReason, Usage};
use ports::ReplyError;
use serde::{Deserialize, Serialize};

/// The behaviour of the engine for one request. The default ends at once without text.
///
/// Each response begins with the reasoning.
/// While there are rounds of calls left, the engine asks for those of the next round and does nothing else.
/// Then it waits for the gate, then for the first pause, then sends its deltas with a pause
/// between each two, and then ends, fails, hangs or panics.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Script {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) deltas: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) words: Option<usize>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) pause_ms: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) first_pause_ms: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) fail: Option<Failure>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) fail_after: Option<usize>,
    #[serde(default, skip_serializing_if = "is_false")]
    pub(crate) hang: bool,
    #[serde(default, skip_serializing_if = "is_false")]
    pub(crate) panic: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) finish_reason: Option<FinishReason>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) usage: Option<Usage>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) gate: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) reasoning: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) calls: Vec<Vec<String>>,
}

/// The failure of a script, by the errors of the port.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Failure {
    /// [`ReplyError::Unavailable`].
    Unavailable,
    /// [`ReplyError::RateLimited`], without `retry_after`.
    RateLimited,
    /// [`ReplyError::TimedOut`].
    TimedOut,
    /// [`ReplyError::Rejected`].
    Rejected,
    /// [`ReplyError::InvalidReply`].
    InvalidReply,
}

impl Failure {
    /// The error of the port.
    pub(crate) fn to_error(self) -> ReplyError {
        let cause = || "requested by the script".into();
        match self {
            Self::Unavailable => ReplyError::Unavailable(cause()),
            Self::RateLimited => ReplyError::RateLimited { retry_after: None },
            Self::TimedOut => ReplyError::TimedOut,
            Self::Rejected => ReplyError::Rejected(cause()),
            Self::InvalidReply => ReplyError::InvalidReply(cause()),
        }
    }
}

impl Script {
    /// Creates a script without deltas.
    pub fn silence() -> Self {
        Self::default()
    }

    /// Creates a script with these deltas.
    pub fn deltas(deltas: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self {
            deltas: Some(deltas.into_iter().map(Into::into).collect()),
            ..Self::default()
        }
    }

    /// Creates a script with this number of words, each as one delta; the text is `word1 word2
    /// word3` and so on.
    pub fn words(number: usize) -> Self {
        Self {
            words: Some(number),
            ..Self::default()
        }
    }

    /// Sends this reasoning at the beginning of each response.
    #[must_use]
    pub fn reasoning(mut self, text: &str) -> Self {
        self.reasoning = Some(text.to_owned());
        self
    }

    /// Waits between two deltas, in whole milliseconds.
    #[must_use]
    pub fn pause(mut self, pause: Duration) -> Self {
        self.pause_ms = Some(milliseconds(pause));
        self
    }

    /// Waits before the first delta, or before the end of an empty reply, in whole milliseconds.
    #[must_use]
    pub fn first_pause(mut self, pause: Duration) -> Self {
        self.first_pause_ms = Some(milliseconds(pause));
        self
    }

    /// Fails instead of ending. Without deltas and waits, the request fails without a stream.
    #[must_use]
    pub fn fail(mut self, failure: Failure) -> Self {
        self.fail = Some(failure);
        self
    }

    /// Fails after this number of deltas, always in the stream.
    #[must_use]
    pub fn fail_after(mut self, deltas: usize, failure: Failure) -> Self {
        self.fail_after = Some(deltas);
        self.fail(failure)
    }

    /// Never ends, after the last delta.
    #[must_use]
    pub fn hang(mut self) -> Self {
        self.hang = true;
        self
    }

    /// Panics after the last delta.
    #[must_use]
    pub fn panic(mut self) -> Self {
        self.panic = true;
        self
    }

    /// Ends with this reason; the default is [`FinishReason::Stop`].
    #[must_use]
    pub fn finish_reason(mut self, reason: FinishReason) -> Self {
        self.finish_reason = Some(reason);
        self
    }

    /// Sets the token usage.
    #[must_use]
    pub fn usage(mut self, usage: Usage) -> Self {
        self.usage = Some(usage);
        self
    }

    /// Waits first until [`open`](crate::ScriptedEngine::open) has been called with this name.
    #[must_use]
    pub fn gate(mut self, name: impl Into<String>) -> Self {
        self.gate = Some(name.into());
        self
    }

    /// Calls these functions first, without arguments, in one round. Further rounds follow.
    #[must_use]
    pub fn calls(mut self, functions: impl IntoIterator<Item = impl Into<String>>) -> Self {
        let round = functions.into_iter().map(Into::into).collect();
        self.calls.push(round);
        self
    }

    /// The whole text of the script.
    pub fn text(&self) -> String {
        let words = (0..self.words.unwrap_or_default()).map(word);
        let deltas = self.deltas.iter().flatten().cloned();
        deltas.chain(words).collect()
    }

    /// The message that contains this script.
    pub fn to_message(&self) -> String {
        serde_json::to_string(self).expect("texts and numbers are JSON")
    }
}

/// The word at this index, from 0, after a space.
pub(crate) fn word(index: usize) -> String {
    let space = if index == 0 { "" } else { " " };
    format!("{space}word{}", index + 1)
}

fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde hands over references"
)]
fn is_false(flag: &bool) -> bool {
    !flag
}
