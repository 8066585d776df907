//! A response with tool calls, as a part of the conversation.

use std::borrow::Cow;

use domain::{ModelStep, ToolStep, base62};

use crate::step_state;

/// A message of the model with calls, and those with their results.
pub(crate) struct Step<'a> {
    pub(crate) step: &'a ModelStep,
    /// The calls are those of this turn, so that the server's own ids are known to be unique.
    pub(crate) is_current: bool,
}

impl<'a> Step<'a> {
    pub(super) const fn current(step: &'a ModelStep) -> Self {
        Self {
            step,
            is_current: true,
        }
    }

    pub(super) const fn earlier(step: &'a ModelStep) -> Self {
        Self {
            step,
            is_current: false,
        }
    }

    /// Returns the calls, each with the id that the model receives.
    pub(crate) fn calls(&self) -> impl Iterator<Item = (Cow<'a, str>, &'a ToolStep)> {
        let (step, is_current) = (self.step, self.is_current);
        let calls = step.calls.iter().enumerate();
        calls.map(move |(index, call)| {
            let id = if is_current {
                own_id(step, index, call)
            } else {
                short_id(call)
            };
            (id, call)
        })
    }
}

/// Returns the id of a call of this turn: the server's own, since some accept no other.
fn own_id<'s>(step: &'s ModelStep, index: usize, call: &'s ToolStep) -> Cow<'s, str> {
    step_state::call_id(step, index)
        .unwrap_or(&call.call_id)
        .into()
}

/// Returns the id of a call of an earlier turn. The server's own can be that of a call in another turn, and ours
/// is too long for some: Mistral's models accept nothing but nine letters and digits.
fn short_id(call: &ToolStep) -> Cow<'static, str> {
    // FNV-1a.
    let mix = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    let hash = call.call_id.bytes().fold(0xcbf2_9ce4_8422_2325, mix);
    base62::encode(&hash.to_be_bytes(), 9).into()
}
