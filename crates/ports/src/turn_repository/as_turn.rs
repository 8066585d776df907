//! What a question and its answer are as a turn: the same for every store, and for who asked.

use domain::{Message, Role, Timestamp, Turn, TurnStatus};

use super::{BeginTurn, Exchange, Reply};

impl BeginTurn {
    /// The turn while it waits.
    pub fn queued(&self) -> Turn {
        Turn {
            id: self.turn_id,
            conversation_id: self.target.id(),
            agent_id: self.agent_id,
            agent_version: None,
            status: TurnStatus::Queued,
            input: self.input.clone(),
            reply: None,
            engine: None,
            degraded: false,
            finish_reason: None,
            usage: None,
            tool_calls: Vec::new(),
            metadata: self.metadata.clone(),
            error: None,
            created_at: self.stamp.time,
            started_at: None,
            finished_at: None,
        }
    }

    /// The turn when it starts at once.
    pub fn started(&self) -> Turn {
        Turn {
            status: TurnStatus::InProgress,
            agent_version: Some(self.agent_version),
            started_at: Some(self.stamp.time),
            ..self.queued()
        }
    }
}

impl Exchange {
    /// The turn as it is found later; `message_seq` is the place of the user's message.
    pub fn turn(&self, message_seq: i64) -> Turn {
        let started = self.question.started();
        let message = self
            .reply
            .message(&started, message_seq + 1, self.finished_at);
        Turn {
            status: TurnStatus::Completed,
            engine: message.engine.clone(),
            degraded: self.reply.degraded,
            finish_reason: message.finish_reason,
            usage: message.usage,
            tool_calls: self.reply.tool_calls.clone(),
            reply: Some(message),
            finished_at: Some(self.finished_at),
            ..started
        }
    }
}

impl Reply {
    /// The agent's message at the end of `turn`.
    pub fn message(&self, turn: &Turn, seq: i64, at: Timestamp) -> Message {
        Message {
            id: self.message_id,
            conversation_id: turn.conversation_id,
            turn_id: Some(turn.id),
            seq,
            role: Role::Agent,
            content: self.content.clone(),
            created_at: at,
            engine: Some(self.engine.clone()),
            agent_version: turn.agent_version,
            finish_reason: Some(self.finish_reason),
            usage: self.usage,
        }
    }
}
