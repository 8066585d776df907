//! Assembles tool calls from the pieces of a response.

use std::collections::HashSet;

use serde_json::Value;

use crate::{error::LlmError, wire::CallPart};

/// The maximum number of tool calls in one response. A turn may make only 16; this limits the
/// number of rejections.
const MAX_CALLS_PER_RESPONSE: usize = 64;

/// A tool call by the model.
#[derive(Default)]
pub(crate) struct Call {
    /// The index of the call in the response, if the upstream sends one.
    index: Option<u32>,
    pub(crate) id: String,
    pub(crate) name: String,
    /// JSON text, unless the model made a mistake.
    pub(crate) arguments: String,
    pub(crate) extra_content: Option<Value>,
}

/// The tool calls of one response, in the order of their first pieces.
#[derive(Default)]
pub(crate) struct ToolCallAccumulator {
    calls: Vec<Call>,
    bytes: usize,
}

impl ToolCallAccumulator {
    pub(crate) fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    /// The number of bytes that are kept.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Adds a piece.
    pub(crate) fn push(&mut self, part: CallPart) -> Result<(), LlmError> {
        let position = match self.position_of(&part) {
            Some(position) => position,
            None if self.calls.len() == MAX_CALLS_PER_RESPONSE => {
                return Err(LlmError::Unusable(
                    "the model made too many tool calls in one response",
                ));
            }
            None => {
                self.calls.push(Call {
                    index: part.index,
                    ..Call::default()
                });
                self.calls.len() - 1
            }
        };
        let call = &mut self.calls[position];
        let function = part.function.unwrap_or_default();
        // Some servers repeat the id and the name in every piece; none splits them.
        set_once(&mut call.id, part.id, &mut self.bytes);
        set_once(&mut call.name, function.name, &mut self.bytes);
        if let Some(arguments) = function.arguments {
            self.bytes += arguments.len();
            call.arguments.push_str(&arguments);
        }
        if let Some(extra) = part.extra_content {
            self.bytes += extra.to_string().len();
            call.extra_content = Some(extra);
        }
        Ok(())
    }

    /// Finds the call of a piece by its index. Some servers send no index, or the same for
    /// different calls; there, a different id starts another call.
    fn position_of(&self, part: &CallPart) -> Option<usize> {
        let id = part.id.as_deref().filter(|id| !id.is_empty());
        let found = match part.index {
            Some(_) => self.calls.iter().rposition(|call| call.index == part.index),
            None => self.calls.len().checked_sub(1),
        };
        found.filter(|position| {
            let known = &self.calls[*position].id;
            id.is_none_or(|id| known.is_empty() || known == id)
        })
    }

    /// Returns the calls with ids that are unique in the turn. `taken` contains the ids of the turn
    /// so far. Some servers send no id, or the same for different calls.
    pub(crate) fn into_calls(self, taken: &mut HashSet<String>) -> Vec<Call> {
        let mut calls = self.calls;
        for call in &mut calls {
            if !call.id.is_empty() && !taken.insert(call.id.clone()) {
                call.id.clear();
            }
        }
        let mut numbers = 0..;
        for call in calls.iter_mut().filter(|call| call.id.is_empty()) {
            let mut accumulator = numbers
                .by_ref()
                .map(|number: usize| format!("call_{number}"));
            call.id = accumulator
                .find(|id| !taken.contains(id))
                .unwrap_or_default();
            taken.insert(call.id.clone());
        }
        calls
    }
}

fn set_once(field: &mut String, value: Option<String>, bytes: &mut usize) {
    if let Some(value) = value
        && field.is_empty()
    {
        *bytes += value.len();
        *field = value;
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    fn calls(parts: &[Value]) -> Vec<(String, String, String)> {
        let mut accumulator = ToolCallAccumulator::default();
        for part in parts {
            accumulator
                .push(serde_json::from_value(part.clone()).unwrap())
                .unwrap();
        }
        let value = |call: Call| (call.id, call.name, call.arguments);
        let calls = accumulator.into_calls(&mut HashSet::new());
        calls.into_iter().map(value).collect()
    }

    fn call(id: &str, name: &str, arguments: &str) -> (String, String, String) {
        (id.to_owned(), name.to_owned(), arguments.to_owned())
    }

    #[rstest]
    #[case::in_pieces(vec![
        json!({"index": 0, "id": "a", "function": {"name": "time", "arguments": ""}}),
        json!({"index": 0, "function": {"arguments": "{\"zo"}}),
        json!({"index": 1, "id": "b", "function": {"name": "sum", "arguments": "{"}}),
        json!({"index": 0, "function": {"arguments": "ne\":1}"}}),
        json!({"index": 1, "function": {"arguments": "}"}}),
    ])]
    #[case::with_everything_repeated(vec![
        json!({"index": 0, "id": "a", "function": {"name": "time", "arguments": "{\"zo"}}),
        json!({"index": 0, "id": "a", "function": {"name": "time", "arguments": "ne\":1}"}}),
        json!({"index": 1, "id": "b", "function": {"name": "sum", "arguments": "{}"}}),
    ])]
    #[case::without_an_index(vec![
        json!({"id": "a", "function": {"name": "time", "arguments": "{\"zo"}}),
        json!({"function": {"arguments": "ne\":1}"}}),
        json!({"id": "b", "function": {"name": "sum", "arguments": {}}}),
    ])]
    #[case::with_the_same_index(vec![
        json!({"index": 0, "id": "a", "function": {"name": "time", "arguments": {"zone": 1}}}),
        json!({"index": 0, "id": "b", "function": {"name": "sum", "arguments": "{}"}}),
    ])]
    fn calls_are_assembled_from_pieces(#[case] parts: Vec<Value>) {
        let expected = [call("a", "time", r#"{"zone":1}"#), call("b", "sum", "{}")];
        assert_eq!(calls(&parts), expected);
    }

    #[test]
    fn a_call_without_an_id_gets_one() {
        let parts = [
            json!({"index": 0, "function": {"name": "time"}}),
            json!({"index": 1, "id": "", "function": {"name": "time"}}),
        ];
        let expected = [call("call_0", "time", ""), call("call_1", "time", "")];
        assert_eq!(calls(&parts), expected);
    }

    #[test]
    fn no_two_calls_of_a_turn_have_the_same_id() {
        let rounds: [(&[&str], &[&str]); 3] = [
            (
                &["", "call_1", "call_0", ""],
                &["call_2", "call_1", "call_0", "call_3"],
            ),
            (&["call_0", "a", "a"], &["call_4", "a", "call_5"]),
            (&["", "a", "b"], &["call_6", "call_7", "b"]),
        ];
        let mut taken = HashSet::new();
        for (value, expected) in rounds {
            let mut accumulator = ToolCallAccumulator::default();
            for (index, id) in (0..).zip(value) {
                let part = json!({"index": index, "id": id, "function": {"name": "time"}});
                accumulator
                    .push(serde_json::from_value(part).unwrap())
                    .unwrap();
            }
            let calls = accumulator.into_calls(&mut taken);
            let ids: Vec<_> = calls.iter().map(|call| call.id.as_str()).collect();
            assert_eq!(ids, expected);
        }
    }

    #[test]
    fn too_many_calls_are_rejected() {
        let mut accumulator = ToolCallAccumulator::default();
        let part = |index| CallPart {
            index: Some(index),
            ..CallPart::default()
        };
        let rejected = (0..1000).find(|index| accumulator.push(part(*index)).is_err());
        assert_eq!(rejected, Some(64));
    }
}
