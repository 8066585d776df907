//! The calls for an order in a request to the model.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{
    doubles::{AT_ONCE, tools_named},
    record::Tool,
};

/// The beginning of the names of orders.
pub(super) const ORDER: &str = "order-";
/// The mark before the id of a call in its result, and the one after it.
const CALL: (&str, char) = ("call=", ';');

/// A request to the model.
#[derive(Debug, Default)]
pub(super) struct Prompt {
    pub(super) order: String,
    pub(super) is_at_once: bool,
    pub(super) has_tools: bool,
    /// The tools that were called for the order.
    pub(super) called: BTreeSet<Tool>,
    /// The number of calls after the last message of the user.
    pub(super) own_calls: usize,
    /// The ids of calls that ended well.
    pub(super) succeeded: BTreeSet<String>,
    pub(super) unknown: usize,
    /// Calls without a result, and results without a call.
    pub(super) faults: Vec<String>,
}

impl Prompt {
    pub(super) fn read(body: &Value) -> Self {
        let mut prompt = Self {
            has_tools: body["tools"]
                .as_array()
                .is_some_and(|tools| !tools.is_empty()),
            ..Self::default()
        };
        let mut open: Vec<String> = Vec::new();
        for message in body["messages"].as_array().into_iter().flatten() {
            let content = message["content"].as_str().unwrap_or_default();
            let role = message["role"].as_str().unwrap_or_default();
            if role == "tool" {
                prompt.add_result(message, content, &mut open);
                continue;
            }
            prompt.expect_all_closed(&mut open);
            match role {
                "user" => prompt.add_user(content),
                "assistant" => {
                    prompt.called.extend(tools_named(content));
                    open = prompt.add_calls(&message["tool_calls"]);
                }
                _ => {}
            }
        }
        prompt.expect_all_closed(&mut open);
        prompt
    }

    fn add_user(&mut self, content: &str) {
        self.own_calls = 0;
        self.is_at_once = content.contains(AT_ONCE);
        if let Some(start) = content.find(ORDER) {
            let is_part = |letter: &char| letter.is_ascii_alphanumeric() || "-_".contains(*letter);
            self.order = content[start..].chars().take_while(is_part).collect();
        }
    }

    /// Adds the calls of a message, and returns their ids.
    fn add_calls(&mut self, calls: &Value) -> Vec<String> {
        let mut ids = Vec::new();
        for call in calls.as_array().into_iter().flatten() {
            let function = &call["function"]["name"];
            let mut tools = Tool::ALL.into_iter();
            self.called
                .extend(tools.find(|tool| *function == tool.function()));
            self.own_calls += 1;
            ids.push(call["id"].as_str().unwrap_or_default().to_owned());
        }
        ids
    }

    fn add_result(&mut self, message: &Value, content: &str, open: &mut Vec<String>) {
        let id = message["tool_call_id"].as_str().unwrap_or_default();
        match open.iter().position(|open| open == id) {
            Some(place) => drop(open.remove(place)),
            None => self
                .faults
                .push(format!("a result without a call: {message}")),
        }
        let result: Value = serde_json::from_str(content).unwrap_or_default();
        match result["status"].as_str() {
            Some("ok") => {
                let data = result["data"].as_str().unwrap_or_default();
                match data
                    .split_once(CALL.0)
                    .and_then(|(_, rest)| rest.split_once(CALL.1))
                {
                    Some((id, _)) => drop(self.succeeded.insert(id.to_owned())),
                    None => self
                        .faults
                        .push(format!("a result that no tool sent: {message}")),
                }
            }
            Some("outcome_unknown") => self.unknown += 1,
            Some(_) => {}
            None => self
                .faults
                .push(format!("a result without status: {message}")),
        }
    }

    fn expect_all_closed(&mut self, open: &mut Vec<String>) {
        let unanswered = open.drain(..);
        self.faults
            .extend(unanswered.map(|id| format!("call {id} has no result in a history")));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn call(id: &str, tool: Tool) -> Value {
        json!({"role": "assistant", "tool_calls": [{"id": id, "function": {"name": tool.function()}}]})
    }

    fn result(id: &str, content: &str) -> Value {
        json!({"role": "tool", "tool_call_id": id, "content": content})
    }

    #[test]
    fn reads_calls_and_results() {
        let messages = json!([
            {"role": "user", "content": "Settle order-a-1, at once."},
            call("x", Tool::Price),
            result("x", r#"{"status":"ok","data":"price of order-a-1 by call=t-1;"}"#),
            {"role": "assistant", "content": "Done."},
            {"role": "user", "content": "Is order-a-1 done?"},
            call("y", Tool::Refund),
            result("y", r#"{"status":"outcome_unknown","error":"…"}"#),
        ]);
        let prompt = Prompt::read(&json!({"messages": messages, "tools": [{}]}));
        assert_eq!(prompt.order, "order-a-1");
        assert_eq!((prompt.own_calls, prompt.unknown), (1, 1));
        assert_eq!(prompt.called, [Tool::Price, Tool::Refund].into());
        assert_eq!(prompt.succeeded, ["t-1".to_owned()].into());
        assert!(prompt.has_tools && !prompt.is_at_once && prompt.faults.is_empty());
    }

    #[test]
    fn finds_calls_without_results_and_results_without_calls() {
        for messages in [
            json!([call("x", Tool::Price)]),
            json!([call("x", Tool::Price), {"role": "user", "content": "And?"}]),
            json!([result("x", r#"{"status":"failed","error":"…"}"#)]),
        ] {
            let prompt = Prompt::read(&json!({ "messages": messages }));
            assert_eq!(prompt.faults.len(), 1, "{messages}");
        }
    }
}
