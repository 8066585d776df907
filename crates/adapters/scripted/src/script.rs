//! What a message may tell the engine.

use std::time::Duration;

use domain::{FinishReason, Usage};
use ports::ReplyError;
use serde::{Deserialize, Serialize};

/// What the engine is to do when it is asked. Without anything it ends at once and says nothing.
///
/// It waits for the gate, then for the first pause, then says its deltas with a pause between each
/// two, and then ends, unless it is told to fail, to hang or to panic there.
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
}

/// Why the engine is to fail, by the errors of its port.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Failure {
    /// [`ReplyError::Unavailable`].
    Unavailable,
    /// [`ReplyError::RateLimited`], without a time.
    RateLimited,
    /// [`ReplyError::TimedOut`].
    TimedOut,
    /// [`ReplyError::Refused`].
    Refused,
    /// [`ReplyError::BadAnswer`].
    BadAnswer,
}

impl Failure {
    /// The error of the port.
    pub(crate) fn to_error(self) -> ReplyError {
        let cause = || "as the script wants".into();
        match self {
            Self::Unavailable => ReplyError::Unavailable(cause()),
            Self::RateLimited => ReplyError::RateLimited { retry_after: None },
            Self::TimedOut => ReplyError::TimedOut,
            Self::Refused => ReplyError::Refused(cause()),
            Self::BadAnswer => ReplyError::BadAnswer(cause()),
        }
    }
}

impl Script {
    /// Says nothing.
    pub fn silence() -> Self {
        Self::default()
    }

    /// Says these, each as one delta.
    pub fn deltas(deltas: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self {
            deltas: Some(deltas.into_iter().map(Into::into).collect()),
            ..Self::default()
        }
    }

    /// Says so many words, each as one delta; the whole is `word1 word2 word3` and so on.
    pub fn words(number: usize) -> Self {
        Self {
            words: Some(number),
            ..Self::default()
        }
    }

    /// Waits so long between two deltas, in whole milliseconds.
    #[must_use]
    pub fn pause(mut self, pause: Duration) -> Self {
        self.pause_ms = Some(milliseconds(pause));
        self
    }

    /// Waits so long before the first delta, or before whatever comes in its place, in whole
    /// milliseconds.
    #[must_use]
    pub fn first_pause(mut self, pause: Duration) -> Self {
        self.first_pause_ms = Some(milliseconds(pause));
        self
    }

    /// Fails where it would have ended. With nothing to say and nothing to wait for before, the
    /// engine fails when it is asked and gives no stream.
    #[must_use]
    pub fn fail(mut self, failure: Failure) -> Self {
        self.fail = Some(failure);
        self
    }

    /// Fails after so many of its deltas, always in the stream.
    #[must_use]
    pub fn fail_after(mut self, deltas: usize, failure: Failure) -> Self {
        self.fail_after = Some(deltas);
        self.fail(failure)
    }

    /// Never comes to an end, once all is said.
    #[must_use]
    pub fn hang(mut self) -> Self {
        self.hang = true;
        self
    }

    /// Panics, once all is said.
    #[must_use]
    pub fn panic(mut self) -> Self {
        self.panic = true;
        self
    }

    /// Ends for this reason; without one it is [`FinishReason::Stop`].
    #[must_use]
    pub fn finish_reason(mut self, reason: FinishReason) -> Self {
        self.finish_reason = Some(reason);
        self
    }

    /// Counts so many tokens.
    #[must_use]
    pub fn usage(mut self, usage: Usage) -> Self {
        self.usage = Some(usage);
        self
    }

    /// Waits, before anything else, until [`open`](crate::ScriptedEngine::open) has been called
    /// with this name.
    #[must_use]
    pub fn gate(mut self, name: impl Into<String>) -> Self {
        self.gate = Some(name.into());
        self
    }

    /// All that it has to say, put together.
    pub fn text(&self) -> String {
        let words = (0..self.words.unwrap_or_default()).map(word);
        let deltas = self.deltas.iter().flatten().cloned();
        deltas.chain(words).collect()
    }

    /// The message that makes the engine follow this script.
    pub fn to_message(&self) -> String {
        serde_json::to_string(self).expect("texts and numbers are JSON")
    }
}

/// The word at `position`, from 0, and the space before it.
pub(crate) fn word(position: usize) -> String {
    let space = if position == 0 { "" } else { " " };
    format!("{space}word{}", position + 1)
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
