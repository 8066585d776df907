//! Conversions between the writes of a turn and the turn that is read.

use domain::{
    ChatReply, Message, MessageId, Role, Timestamp, ToolCall, Turn, TurnStarted, TurnStatus,
};

use super::{BeginTurn, CompletedTurn, Reply, TurnMessages};

impl BeginTurn {
    /// Returns the turn in its queued state.
    pub fn queued(&self) -> Turn {
        Turn {
            continues: None,
            id: self.turn_id,
            conversation_id: self.target.id(),
            agent_id: self.agent_id,
            agent_version: None,
            status: TurnStatus::Queued,
            input: self.input.clone(),
            files: self.files.clone(),
            instruction: self.instruction.clone(),
            client_message_id: self.client_message_id.clone(),
            retry_of: None,
            reply: None,
            engine: None,
            model: None,
            degraded: false,
            finish_reason: None,
            usage: None,
            tool_calls: Vec::new(),
            output: None,
            repaired: false,
            reasoning: None,
            metadata: self.metadata.clone(),
            error: None,
            created_at: self.stamp.time,
            started_at: None,
            finished_at: None,
        }
    }

    /// Returns the turn as it is if it starts at once.
    pub fn started(&self) -> Turn {
        Turn {
            status: TurnStatus::InProgress,
            agent_version: Some(self.agent_version),
            started_at: Some(self.stamp.time),
            ..self.queued()
        }
    }
}

impl CompletedTurn {
    /// Returns the completed turn with its messages at `messages`.
    pub fn turn(&self, messages: &TurnMessages) -> Turn {
        let started = Turn {
            retry_of: messages.retry_of,
            ..self.begin.started()
        };
        let message = self
            .reply
            .message(&started, messages.reply_seq, self.finished_at);
        Turn {
            status: TurnStatus::Completed,
            engine: message.engine.clone(),
            model: message.model.clone(),
            degraded: self.reply.degraded,
            finish_reason: message.finish_reason,
            usage: message.usage,
            output: message.output.clone(),
            repaired: message.repaired,
            tool_calls: self.reply.tool_calls.clone(),
            reply: Some(message),
            finished_at: Some(self.finished_at),
            ..started
        }
    }
}

impl Reply {
    /// Returns the reply in the form that clients receive.
    pub fn chat_reply(&self, turn: &TurnStarted, created_at: Timestamp) -> ChatReply {
        ChatReply {
            tool_calls: ChatReply::calls_of_turn(&self.tool_calls),
            message: self.content.clone(),
            conversation_id: turn.conversation_id,
            turn_id: turn.turn_id,
            message_id: Some(self.message_id),
            agent_id: turn.agent_id,
            agent_version: turn.agent_version,
            engine: Some(self.engine.clone()),
            model: self.model.clone(),
            degraded: self.degraded,
            finish_reason: self.finish_reason,
            usage: self.usage,
            output: self.output.clone(),
            repaired: self.repaired,
            created_at,
            seq: None,
        }
    }

    /// Creates the stored reply from a reply in the form of clients, which asked no model, its id and its tool
    /// calls.
    pub fn from_chat_reply(
        reply: ChatReply,
        message_id: MessageId,
        tool_calls: Vec<ToolCall>,
    ) -> Self {
        Self {
            message_id,
            content: reply.message,
            engine: reply.engine.unwrap_or_default(),
            model: reply.model,
            degraded: reply.degraded,
            finish_reason: reply.finish_reason,
            output: reply.output,
            repaired: reply.repaired,
            usage: reply.usage,
            requests: Vec::new(),
            tool_calls,
        }
    }

    /// Returns the agent's message at the end of `turn`.
    pub fn message(&self, turn: &Turn, seq: i64, at: Timestamp) -> Message {
        let place = (turn.conversation_id, seq);
        Message {
            turn_id: Some(turn.id),
            engine: Some(self.engine.clone()),
            model: self.model.clone(),
            agent_version: turn.agent_version,
            finish_reason: Some(self.finish_reason),
            output: self.output.clone(),
            repaired: self.repaired,
            usage: self.usage,
            ..Message::new(
                place,
                self.message_id,
                Role::Agent,
                self.content.clone(),
                at,
            )
        }
    }
}
