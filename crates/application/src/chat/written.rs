//! An answer as it is stored, and as the caller reads it.

use domain::{Agent, ChatReply, ConversationId, MessageId, Timestamp, TurnId};
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

/// The answer as it is stored, from what the caller reads of it.
pub(super) fn stored_reply(reply: ChatReply) -> Reply {
    Reply {
        message_id: reply.message_id,
        content: reply.message,
        engine: reply.engine,
        degraded: reply.degraded,
        finish_reason: reply.finish_reason,
        usage: reply.usage,
        tool_calls: Vec::new(),
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
