//! An answer as it is stored, and as the caller reads it.

use domain::{Agent, ChatReply, ConversationId, MessageId, Timestamp, ToolCall, TurnId};
use ports::Reply;

use super::answer::Answer;

/// The answer as it is stored.
pub(super) fn reply_of(message_id: MessageId, answer: Answer) -> Reply {
    Reply {
        message_id,
        content: answer.content,
        engine: answer.engine,
        degraded: answer.degraded,
        finish_reason: answer.finish_reason,
        usage: answer.usage,
        tool_calls: answer.tool_calls,
    }
}

/// The answer as it is stored, from what the caller reads of it and the tools that were called.
pub(super) fn stored_reply(reply: ChatReply, tool_calls: Vec<ToolCall>) -> Reply {
    Reply {
        message_id: reply.message_id,
        content: reply.message,
        engine: reply.engine,
        degraded: reply.degraded,
        finish_reason: reply.finish_reason,
        usage: reply.usage,
        tool_calls,
    }
}

/// The answer as the caller reads it.
pub(super) fn chat_reply(
    reply: &Reply,
    conversation_id: ConversationId,
    turn_id: TurnId,
    agent: &Agent,
    created_at: Timestamp,
) -> ChatReply {
    ChatReply {
        message: reply.content.clone(),
        conversation_id,
        turn_id,
        message_id: reply.message_id,
        agent_id: agent.id,
        agent_version: agent.version,
        engine: reply.engine.clone(),
        degraded: reply.degraded,
        finish_reason: reply.finish_reason,
        usage: reply.usage,
        created_at,
    }
}

#[cfg(test)]
mod tests {
    use contract::samples;
    use domain::{FinishReason, Usage};
    use serde_json::json;

    use super::*;

    #[test]
    fn what_the_caller_reads_gives_the_stored_answer_back() {
        let called = ToolCall {
            name: "time".to_owned(),
            arguments: json!({ "zone": "UTC" }),
            status: "ok".to_owned(),
            duration_ms: 3,
        };
        let stored = Reply {
            message_id: samples::message_id(1),
            content: "Noon.".to_owned(),
            engine: "clock".to_owned(),
            degraded: true,
            finish_reason: FinishReason::Length,
            usage: Some(Usage {
                input_tokens: 1,
                output_tokens: 2,
            }),
            tool_calls: vec![called],
        };
        let read = chat_reply(
            &stored,
            samples::conversation_id(1),
            samples::turn_id(1),
            &samples::agent(1),
            samples::at(0),
        );
        assert_eq!(stored_reply(read, stored.tool_calls.clone()), stored);
    }
}
