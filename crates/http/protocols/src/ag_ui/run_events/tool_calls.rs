//! The events of tool calls.

use domain::{ToolCalled, ToolReturned};
use serde_json::Value;

use super::{
    super::event::{RunEvent, result_content, result_message_id, result_metadata},
    RunEvents,
};

impl RunEvents {
    pub(super) fn add_call(&mut self, call: &ToolCalled) {
        self.close_message();
        self.reply.add_call();
        let arguments = call.arguments.clone().unwrap_or_default();
        let arguments = Value::Object(arguments).to_string();
        let message_id = self.reply.message_id().to_owned();
        for part in [
            RunEvent::ToolCallStart {
                tool_call_id: &call.id,
                tool_call_name: &call.name,
                parent_message_id: &message_id,
            },
            RunEvent::ToolCallArgs {
                tool_call_id: &call.id,
                delta: &arguments,
            },
            RunEvent::ToolCallEnd {
                tool_call_id: &call.id,
            },
        ] {
            self.emitted.calls += 1;
            if self.emitted.calls > self.received.calls {
                self.ready.push(None, self.id(), &part);
            }
        }
    }

    pub(super) fn add_result(&mut self, call: &ToolReturned) {
        self.emitted.results += 1;
        if self.emitted.results <= self.received.results {
            return;
        }
        let event = RunEvent::ToolCallResult {
            message_id: &result_message_id(&call.id),
            tool_call_id: &call.id,
            content: result_content(call.result.as_deref(), &call.status),
            role: "tool",
            metadata: result_metadata(&call.status),
        };
        self.ready.push(None, self.id(), &event);
    }
}
