//! Calls of tools, put together from the pieces in which they come.

use std::collections::HashSet;

use serde_json::Value;

use crate::{fault::Fault, wire::CallPart};

/// The most calls that are heard of one question. A turn may make only sixteen; this bounds
/// how many refusals are told.
const MOST_CALLS_HEARD: usize = 64;

/// A call that the model makes.
#[derive(Default)]
pub(crate) struct Call {
    /// The place that the upstream gives it among the calls.
    index: Option<u32>,
    pub(crate) id: String,
    pub(crate) name: String,
    /// JSON as text, if the model did well.
    pub(crate) arguments: String,
    pub(crate) extra_content: Option<Value>,
}

/// The calls of one answer, in the order in which they began.
#[derive(Default)]
pub(crate) struct CallsMade {
    calls: Vec<Call>,
    bytes: usize,
}

impl CallsMade {
    pub(crate) fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    /// How much is kept.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Takes in a piece.
    pub(crate) fn take(&mut self, part: CallPart) -> Result<(), Fault> {
        let position = match self.position_of(&part) {
            Some(position) => position,
            None if self.calls.len() == MOST_CALLS_HEARD => {
                return Err(Fault::Useless("the upstream calls too many tools"));
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
        // Some servers repeat the id and the name with every piece; none sends them in pieces.
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

    /// The call that a piece belongs to. The index says so, except with servers that give none, or
    /// the same to different calls: there another id begins another call.
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

    /// The calls, each with an id that no other call of the turn has: those have the ids `taken`.
    /// Some servers give none, or the same to different calls.
    pub(crate) fn into_calls(self, taken: &mut HashSet<String>) -> Vec<Call> {
        let mut calls = self.calls;
        for call in &mut calls {
            if !call.id.is_empty() && !taken.insert(call.id.clone()) {
                call.id.clear();
            }
        }
        let mut numbers = 0..;
        for call in calls.iter_mut().filter(|call| call.id.is_empty()) {
            let mut made = numbers
                .by_ref()
                .map(|number: usize| format!("call_{number}"));
            call.id = made.find(|id| !taken.contains(id)).unwrap_or_default();
            taken.insert(call.id.clone());
        }
        calls
    }
}

fn set_once(word: &mut String, told: Option<String>, bytes: &mut usize) {
    if let Some(told) = told
        && word.is_empty()
    {
        *bytes += told.len();
        *word = told;
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    fn calls(parts: &[Value]) -> Vec<(String, String, String)> {
        let mut made = CallsMade::default();
        for part in parts {
            made.take(serde_json::from_value(part.clone()).unwrap())
                .unwrap();
        }
        let told = |call: Call| (call.id, call.name, call.arguments);
        let calls = made.into_calls(&mut HashSet::new());
        calls.into_iter().map(told).collect()
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
    fn puts_calls_together(#[case] parts: Vec<Value>) {
        let expected = [call("a", "time", r#"{"zone":1}"#), call("b", "sum", "{}")];
        assert_eq!(calls(&parts), expected);
    }

    #[test]
    fn a_call_without_an_id_is_given_one() {
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
        for (told, expected) in rounds {
            let mut made = CallsMade::default();
            for (index, id) in (0..).zip(told) {
                let part = json!({"index": index, "id": id, "function": {"name": "time"}});
                made.take(serde_json::from_value(part).unwrap()).unwrap();
            }
            let calls = made.into_calls(&mut taken);
            let ids: Vec<_> = calls.iter().map(|call| call.id.as_str()).collect();
            assert_eq!(ids, expected);
        }
    }

    #[test]
    fn refuses_calls_without_end() {
        let mut made = CallsMade::default();
        let part = |index| CallPart {
            index: Some(index),
            ..CallPart::default()
        };
        let refused = (0..1000).find(|index| made.take(part(*index)).is_err());
        assert_eq!(refused, Some(64));
    }
}
