//! Rows of `turns`.

use domain::{
    ClientTool, LEVEL, Message, MessageId, NodeId, PrincipalId, Problem, Reasoning, ResponseSchema,
    Role, Seq, TenantId, Timestamp, ToolCall, Turn, TurnId, TurnStatus, TurnStep, Usage,
};

use crate::FoundTurn;

/// A row of `turns`. The turn's reply is a row of `messages`, and is only set here if it was
/// joined.
#[derive(Debug, Clone, PartialEq)]
pub struct TurnRow {
    /// The tenant that owns the data.
    pub tenant: TenantId,
    /// The turn as clients see it.
    pub turn: Turn,
    /// The principal that sent the message.
    pub principal: PrincipalId,
    /// The id of the user's message.
    pub message_id: MessageId,
    /// True if an earlier turn stored the user's message, or if there is none.
    pub reuses_message: bool,
    /// True if staff handled the conversation when the turn started: the agent does not reply.
    pub is_for_staff: bool,
    /// The id of the agent's message; `None` for a turn of an earlier version.
    pub reply_id: Option<MessageId>,
    /// Its sort key in listings: the position of its first event.
    pub sort_seq: Seq,
    /// The position of the user's message in the conversation; set when the turn starts.
    pub message_seq: Option<i64>,
    /// The number of the turn in its conversation, from 0; set when it starts.
    pub turn_number: Option<i64>,
    /// The position of the agent's message in the conversation.
    pub reply_seq: Option<i64>,
    /// The node that runs the turn, or ran it last.
    pub node: Option<NodeId>,
    /// The position of its `turn.queued` event.
    pub queued_seq: Option<Seq>,
    /// The idempotency key with which it began.
    pub idempotency: Option<KeyName>,
    /// The lowest level of the nodes that may end or start it by themselves; `None` for all nodes.
    pub level: Option<i32>,
    /// The time from which the first of its waiting calls can no longer be answered; `None` if none waits.
    pub action_expires_at: Option<Timestamp>,
    /// The tools that the client has added, and runs itself.
    pub client_tools: Vec<ClientTool>,
    /// The schema that came with the message, for the reply.
    pub response_schema: Option<ResponseSchema>,
}

impl TurnRow {
    /// Returns whether only nodes of a newer version may end or start the turn without a caller that
    /// demands it.
    pub fn is_left_to_newer(&self) -> bool {
        self.level.is_some_and(|level| level > LEVEL)
    }

    /// Returns whether the turn runs or waits for an answer.
    pub const fn has_begun(&self) -> bool {
        matches!(
            self.turn.status,
            TurnStatus::InProgress | TurnStatus::RequiresAction
        )
    }

    /// Builds the user's message that the turn has stored; `None` until it has started, and if an
    /// earlier turn has stored the message.
    pub fn user_message(&self) -> Option<Message> {
        if self.reuses_message {
            return None;
        }
        let place = (self.turn.conversation_id, self.message_seq?);
        let (content, at) = (self.turn.input.clone(), self.turn.started_at?);
        Some(Message {
            turn_id: Some(self.turn.id),
            client_message_id: self.turn.client_message_id.clone(),
            files: self.turn.files.clone(),
            ..Message::new(place, self.message_id, Role::User, content, at)
        })
    }

    /// Adds the joined reply, and its properties that the turn repeats. Turns from before they had a
    /// usage of their own have that of their reply.
    #[must_use]
    pub fn with_reply(mut self, reply: Option<Message>) -> Self {
        self.turn.finish_reason = Turn::reason_without_reply(self.turn.status);
        if let Some(reply) = reply {
            self.turn.engine.clone_from(&reply.engine);
            self.turn.model.clone_from(&reply.model);
            self.turn.finish_reason = reply.finish_reason;
            self.turn.output.clone_from(&reply.output);
            self.turn.repaired = reply.repaired;
            let usage = self.turn.usage.or(reply.usage);
            self.turn.usage = usage;
            self.turn.reply = Some(Message { usage, ..reply });
        }
        self
    }

    /// Converts the row to the result of a search; `user_id` is that of the turn's conversation.
    pub fn into_found_turn(self, user_id: Option<String>) -> FoundTurn {
        FoundTurn {
            turn: self.turn,
            message_id: self.message_id,
            reply_id: self.reply_id,
            principal: self.principal,
            user_id,
            response_schema: self.response_schema,
        }
    }
}

/// The name of an idempotency key within its principal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyName {
    /// The operation that the key belongs to.
    pub operation: String,
    /// The client's key.
    pub key: String,
}

impl KeyName {
    /// Builds the name from two columns that are both set or both null.
    pub fn from_columns(operation: Option<String>, key: Option<String>) -> Option<Self> {
        let (operation, key) = operation.zip(key)?;
        Some(Self { operation, key })
    }
}

/// The columns that the end of a turn changes.
#[derive(Debug, Clone, PartialEq)]
pub struct TurnEnd {
    /// The tenant that owns the data.
    pub tenant: TenantId,
    /// The turn.
    pub id: TurnId,
    /// Its final status.
    pub status: TurnStatus,
    /// The position of the agent's message, if there is one.
    pub reply_seq: Option<i64>,
    /// True if a fallback engine replied.
    pub degraded: bool,
    /// The tool calls.
    pub tool_calls: Vec<ToolCall>,
    /// The sum of the token counts.
    pub usage: Option<Usage>,
    /// The model's reasoning; `None` keeps what is stored already.
    pub reasoning: Option<Reasoning>,
    /// The reason of a failure.
    pub error: Option<Problem>,
    /// The time.
    pub finished_at: Timestamp,
    /// The time from which the first call that waits for staff can no longer be answered.
    pub action_expires_at: Option<Timestamp>,
}

/// The columns that the start of a queued turn changes.
#[derive(Debug, Clone, PartialEq)]
pub struct TurnStart {
    /// The tenant that owns the data.
    pub tenant: TenantId,
    /// The turn.
    pub id: TurnId,
    /// The node that runs the turn.
    pub node: NodeId,
    /// The agent's version at the start.
    pub agent_version: i64,
    /// The number of the turn in its conversation, from 0.
    pub turn_number: i64,
    /// The position of the user's message in the conversation.
    pub message_seq: i64,
    /// True if staff handles the conversation.
    pub is_for_staff: bool,
    /// The time.
    pub started_at: Timestamp,
}

/// A turn in progress that begins to wait for an answer to a tool call, or waits for further ones, or a
/// turn of whose calls staff has decided one. No node runs it.
#[derive(Debug, Clone, PartialEq)]
pub struct TurnWait {
    /// The tenant that owns the data.
    pub tenant: TenantId,
    /// The turn.
    pub id: TurnId,
    /// The position of the agent's message.
    pub reply_seq: Option<i64>,
    /// The tool calls.
    pub tool_calls: Vec<ToolCall>,
    /// The model's reasoning so far; `None` keeps what is stored already.
    pub reasoning: Option<Reasoning>,
    /// The time from which the first waiting call can no longer be answered; `None` if none waits.
    pub expires_at: Option<Timestamp>,
}

/// A turn in progress that is given to a node, or to none. It no longer waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnAssignment {
    /// The tenant that owns the data.
    pub tenant: TenantId,
    /// The turn.
    pub id: TurnId,
    /// The node that runs it from now on; `None` if any node may take it.
    pub node: Option<NodeId>,
}

/// A turn whose journal gets tool calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnCalls {
    /// The tenant that owns the data.
    pub tenant: TenantId,
    /// The turn.
    pub id: TurnId,
    /// True if one of the calls may act.
    pub may_act: bool,
}

/// A row of `turn_steps`: one entry of the journal of a turn.
#[derive(Debug, Clone, PartialEq)]
pub struct StepRow {
    /// The tenant that owns the data.
    pub tenant: TenantId,
    /// The turn.
    pub turn_id: TurnId,
    /// The number of the entry, from 0.
    pub number: usize,
    /// The entry.
    pub step: TurnStep,
}
