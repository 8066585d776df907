//! Test data with fixed times and numbered ids, without a clock or random numbers.
//!
//! Everything is derived from a number: a greater number is a later id and a later time.

mod credentials;
mod ids;

use domain::{
    Agent, AgentConfig, AgentId, Conversation, Fingerprint, IdempotencyEntry, Message, MessageId,
    Problem, ProblemCode, Role, Stamp, ToolCall, UnknownMembers, admission::OnBusy,
    config::Metadata, conversation::excerpt,
};
use ports::{
    AnsweredMessage, BeginTurn, CompletedTurn, ConversationName, ConversationTarget, FinishTurn,
    Reply, Supersession, TurnEnding,
};
use serde_json::json;

pub use credentials::*;
pub use ids::*;

/// A statement that leaves what a newer program leaves when it has migrated a store.
pub const LATER_MIGRATION: &str = "\
    insert into _sqlx_migrations (version, description, success, checksum, execution_time) \
    select 1000, 'later', success, checksum, 0 from _sqlx_migrations where version = 1";

/// A new agent.
pub fn agent(number: u32) -> Agent {
    Agent {
        id: agent_id(number),
        name: format!("Agent {number}"),
        personality: "Cheerful and brief.".to_owned(),
        capabilities: vec!["time".to_owned()],
        config: AgentConfig::default(),
        version: 1,
        created_at: at(i64::from(number)),
        updated_at: at(i64::from(number)),
        unknown: UnknownMembers::default(),
    }
}

/// Members that a newer version has added to a stored document.
pub fn unknown_members() -> UnknownMembers {
    let members = [("of newer".to_owned(), json!({"deep": [1.5, null]}))];
    UnknownMembers::from(serde_json::Map::from_iter(members))
}

/// A new agent with this name.
pub fn agent_named(number: u32, name: &str) -> Agent {
    Agent {
        name: name.to_owned(),
        ..agent(number)
    }
}

/// A new agent with these capabilities.
pub fn agent_able_to(number: u32, capabilities: &[&str]) -> Agent {
    Agent {
        capabilities: capabilities.iter().map(ToString::to_string).collect(),
        ..agent(number)
    }
}

/// The next version of an agent, with another name.
pub fn renamed(agent: &Agent, name: &str) -> Agent {
    Agent {
        name: name.to_owned(),
        version: agent.version + 1,
        updated_at: agent.updated_at + std::time::Duration::from_millis(1),
        ..agent.clone()
    }
}

/// A new conversation without messages.
pub fn conversation(number: u32, agent: AgentId) -> Conversation {
    Conversation {
        user_id: Some("ada".to_owned()),
        ..Conversation::empty(conversation_id(number), agent, at(i64::from(number)))
    }
}

/// The conversation with a key of the client.
pub fn named(conversation: Conversation, key: &str) -> Conversation {
    Conversation {
        key: Some(key.parse().expect("a well-formed conversation key")),
        ..conversation
    }
}

/// The name of a conversation that has a key.
pub fn name_of(conversation: &Conversation) -> ConversationName {
    ConversationName {
        agent_id: conversation.agent_id,
        user_id: conversation.user_id.clone(),
        key: conversation
            .key
            .clone()
            .expect("the conversation has a key"),
    }
}

/// The next version of a conversation, with another title.
pub fn retitled(conversation: &Conversation, title: &str) -> Conversation {
    Conversation {
        title: Some(title.to_owned()),
        version: conversation.version + 1,
        updated_at: conversation.updated_at + std::time::Duration::from_millis(1),
        ..conversation.clone()
    }
}

/// A conversation with a greeting, and the greeting.
pub fn greeted(conversation: Conversation, text: &str) -> (Conversation, Message) {
    let greeting = Message {
        id: MessageId::new(conversation.id.uuid()),
        conversation_id: conversation.id,
        turn_id: None,
        seq: 1,
        role: Role::Agent,
        content: text.to_owned(),
        created_at: conversation.created_at,
        engine: None,
        agent_version: Some(1),
        finish_reason: None,
        usage: None,
        client_message_id: None,
        turn_status: None,
        error: None,
        tool_calls: Vec::new(),
        superseded_at: None,
    };
    let conversation = Conversation {
        message_count: 1,
        excerpt: Some(excerpt(text)),
        last_message_at: Some(conversation.created_at),
        ..conversation
    };
    (conversation, greeting)
}

/// A entry on a key, without a response.
pub fn entry(key: &str) -> IdempotencyEntry {
    IdempotencyEntry {
        principal: principal(),
        operation: "POST /api/samples",
        key: key.parse().expect("a well-formed idempotency key"),
        fingerprint: Fingerprint::of(&key),
        created_at: at(0),
        result: None,
    }
}

/// An existing conversation in which `turn_count` turns have started.
pub const fn existing(conversation: &Conversation, turn_count: i64) -> ConversationTarget {
    ConversationTarget::Existing {
        id: conversation.id,
        turn_count,
    }
}

/// A numbered turn, begun by node 1 at the time of its number, and queued if necessary.
pub fn begin_turn(number: u32, agent: &Agent, target: ConversationTarget) -> BeginTurn {
    BeginTurn {
        tenant: tenant(),
        turn_id: turn_id(number),
        message_id: message_id(2 * number),
        reply_id: message_id(2 * number + 1),
        client_message_id: None,
        supersession: None,
        target,
        agent_id: agent.id,
        agent_version: agent.version,
        input: format!("Question {number}"),
        metadata: Metadata::new(),
        stamp: stamp(i64::from(number)),
        node: node_id(1),
        on_busy: OnBusy::Queue,
        idempotency: None,
        is_resumption: false,
    }
}

/// The turn that supersedes the messages from `from_seq` on, after `kept` that are not superseded.
pub fn superseding(begin: BeginTurn, from_seq: i64, kept: i64) -> BeginTurn {
    BeginTurn {
        supersession: Some(Supersession {
            from_seq,
            kept,
            answered: None,
        }),
        ..begin
    }
}

/// The turn that supersedes the messages after `message`, and answers that message again; `kept`
/// messages up to that one are not superseded.
pub fn answering_again(begin: BeginTurn, message: &Message, kept: i64) -> BeginTurn {
    BeginTurn {
        input: message.content.clone(),
        supersession: Some(Supersession {
            from_seq: message.seq + 1,
            kept,
            answered: Some(AnsweredMessage {
                id: message.id,
                seq: message.seq,
            }),
        }),
        ..begin
    }
}

/// The reply of a numbered turn.
pub fn reply(number: u32) -> Reply {
    Reply {
        message_id: message_id(2 * number + 1),
        content: format!("Reply {number}"),
        engine: "rules".to_owned(),
        degraded: false,
        finish_reason: domain::FinishReason::Stop,
        usage: None,
        tool_calls: Vec::new(),
    }
}

/// A tool call, with arguments of every JSON type.
pub fn tool_call() -> ToolCall {
    ToolCall {
        id: "call-1".to_owned(),
        at: 7,
        name: "time".to_owned(),
        arguments: json!({"zone": "Europe/Paris", "deep": [1, {"x": null}]}),
        status: "ok".to_owned(),
        duration_ms: 12,
        result: Some("12:00 🕛".to_owned()),
        unknown: unknown_members(),
    }
}

/// A numbered turn that is recorded with its reply.
pub fn completed_turn(number: u32, agent: &Agent, target: ConversationTarget) -> CompletedTurn {
    CompletedTurn {
        begin: begin_turn(number, agent, target),
        reply: reply(number),
        finished_at: at(i64::from(number)),
    }
}

/// The end of a turn that was begun with [`begin_turn`], 10 ms after its start.
pub fn finish(begin: &BeginTurn, ending: TurnEnding) -> FinishTurn {
    FinishTurn {
        tenant: begin.tenant.clone(),
        turn_id: begin.turn_id,
        conversation_id: begin.target.id(),
        node: begin.node,
        ending,
        stamp: Stamp {
            time: begin.stamp.time + std::time::Duration::from_millis(10),
            actor: principal(),
        },
        promote: true,
    }
}

/// A failure after which the same request can succeed.
pub fn retryable_problem() -> Problem {
    Problem::new(ProblemCode::EngineUnavailable)
}

/// A failure after which the same request fails again.
pub fn lasting_problem() -> Problem {
    Problem::new(ProblemCode::EngineFailed)
}
