//! The finished turns that wait for an unavailable store, and their memory.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use domain::{Reasoning, ToolCall};
use serde_json::Value;
use writes::TurnEnding;

/// The maximum number of finished turns that wait for the store; beyond it no message is accepted.
const MAX_PENDING: usize = 1_000;
/// The maximum number of bytes of their replies and tool calls.
const MAX_PENDING_BYTES: usize = 64 * 1024 * 1024;

/// Counts the finished turns that wait for an unavailable store, and their memory.
#[derive(Debug, Default)]
pub(super) struct PendingFinishes {
    turns: AtomicUsize,
    bytes: AtomicUsize,
}

/// A finished turn that waits; it is counted until it is dropped.
pub(super) struct PendingFinish {
    all: Arc<PendingFinishes>,
    bytes: usize,
}

impl PendingFinishes {
    /// Returns true if the limits are reached.
    pub(super) fn is_full(&self) -> bool {
        self.turns.load(Ordering::Relaxed) >= MAX_PENDING
            || self.bytes.load(Ordering::Relaxed) >= MAX_PENDING_BYTES
    }

    /// Counts another turn.
    pub(super) fn add(self: &Arc<Self>, bytes: usize) -> PendingFinish {
        self.turns.fetch_add(1, Ordering::Relaxed);
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
        PendingFinish {
            all: Arc::clone(self),
            bytes,
        }
    }
}

impl Drop for PendingFinish {
    fn drop(&mut self) {
        self.all.turns.fetch_sub(1, Ordering::Relaxed);
        self.all.bytes.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

/// Returns the approximate memory of an ending.
pub(super) fn bytes_of(ending: &TurnEnding, reasoning: Option<&Reasoning>) -> usize {
    let (text, calls) = match ending {
        TurnEnding::Completed(reply) => (reply.content.len(), &reply.tool_calls),
        TurnEnding::HandedOver { tool_calls } | TurnEnding::Failed { tool_calls, .. } => {
            (0, tool_calls)
        }
    };
    let reasoning = reasoning.map_or(0, |reasoning| reasoning.text.len());
    text + reasoning + calls.iter().map(bytes_of_call).sum::<usize>()
}

/// Returns the approximate memory of a call.
fn bytes_of_call(call: &ToolCall) -> usize {
    let edited = call.edited_arguments.as_ref().map_or(0, bytes_of_value);
    call.name.len() + call.status.len() + bytes_of_value(&call.arguments) + edited
}

/// Returns the approximate memory of a value.
fn bytes_of_value(value: &Value) -> usize {
    let inside = match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(bytes_of_value).sum(),
        Value::Object(members) => members
            .iter()
            .map(|(name, member)| name.len() + bytes_of_value(member))
            .sum(),
    };
    size_of::<Value>() + inside
}

#[cfg(test)]
mod tests {
    use contract::fixture;
    use domain::{Problem, ProblemCode};
    use serde_json::json;
    use writes::Reply;

    use super::*;

    #[test]
    fn the_bytes_of_an_ending_include_its_tool_calls() {
        let call = ToolCall {
            arguments: json!({"text": "x".repeat(1_000)}),
            ..fixture::tool_call()
        };
        let tool_calls = vec![call.clone(), call];
        let failed = TurnEnding::Failed {
            problem: Problem::new(ProblemCode::EngineFailed),
            tool_calls: tool_calls.clone(),
            requests: Vec::new(),
        };
        let bytes_of = |ending| bytes_of(ending, None);
        assert!((2_000..3_000).contains(&bytes_of(&failed)));
        let completed = TurnEnding::Completed(Reply {
            content: "x".repeat(1_000),
            tool_calls,
            ..fixture::reply(1)
        });
        assert_eq!(bytes_of(&completed), bytes_of(&failed) + 1_000);
    }

    #[test]
    fn numbers_take_memory_too() {
        let numbers = json!(vec![1; 1_000]);
        assert!(bytes_of_value(&numbers) >= 1_000 * size_of::<Value>());
    }

    #[test]
    fn a_thousand_turns_or_64_mib_are_full() {
        let pending = Arc::new(PendingFinishes::default());
        let mut waiting: Vec<_> = (0..MAX_PENDING - 1).map(|_| pending.add(1)).collect();
        assert!(!pending.is_full());
        waiting.push(pending.add(1));
        assert!(pending.is_full());
        drop(waiting);
        assert!(!pending.is_full());
        let large = pending.add(MAX_PENDING_BYTES);
        assert!(pending.is_full());
        drop(large);
        assert!(!pending.is_full());
    }
}
