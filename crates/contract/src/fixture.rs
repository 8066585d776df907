//! Test data with fixed times and numbered ids, without a clock or random numbers.
//!
//! Everything is derived from a number: a greater number is a later id and a later time.

use domain::{
    Agent, AgentConfig, AgentId, Conversation, ConversationId, Credential, CredentialId,
    CredentialKind, CredentialSource, Fingerprint, IdempotencyEntry, LimitOverrides, Message,
    MessageId, NodeId, Principal, PrincipalId, Problem, ProblemCode, Role, Scope, SecretDigest,
    SigningKey, Stamp, TenantId, Ticket, Timestamp, ToolCall, TurnId,
    admission::OnBusy,
    config::Metadata,
    credential::{Proof, PublicKeys, StoredSecret},
};
use ports::{
    BeginTurn, CompletedTurn, ConversationTarget, FinishTurn, NewProof, Reply, TurnEnding,
};
use serde_json::json;
use uuid::Uuid;

/// 2026-11-20T09:30:00.000Z.
const START: i64 = 1_795_167_000_000;

/// The tenant of a migrated store.
pub fn tenant() -> TenantId {
    tenant_named(TenantId::DEFAULT)
}

/// A tenant id with this name.
pub fn tenant_named(name: &str) -> TenantId {
    name.parse().expect("a well-formed tenant id")
}

/// A time, in milliseconds after 2026-11-20T09:30:00Z.
pub fn at(milliseconds: i64) -> Timestamp {
    Timestamp::from_milliseconds(START + milliseconds)
}

/// The principal that makes all changes.
pub fn principal() -> PrincipalId {
    PrincipalId::new("key:Sample000001")
}

/// The stamp of a change at this time (see [`at`]).
pub fn stamp(milliseconds: i64) -> Stamp {
    Stamp {
        time: at(milliseconds),
        actor: principal(),
    }
}

/// A UUIDv7 derived from its kind and number.
fn sample_uuid(kind: u8, number: u32) -> Uuid {
    let milliseconds = START.unsigned_abs() + u64::from(number);
    let rest = [0, 0, 0, 0, 0, 0, 0, 0, 0, kind];
    uuid::Builder::from_unix_timestamp_millis(milliseconds, &rest).into_uuid()
}

/// The id of a numbered agent.
pub fn agent_id(number: u32) -> AgentId {
    AgentId::new(sample_uuid(1, number))
}

/// The id of a numbered conversation.
pub fn conversation_id(number: u32) -> ConversationId {
    ConversationId::new(sample_uuid(2, number))
}

/// The id of a numbered message.
pub fn message_id(number: u32) -> MessageId {
    MessageId::new(sample_uuid(3, number))
}

/// The id of a numbered turn.
pub fn turn_id(number: u32) -> TurnId {
    TurnId::new(sample_uuid(4, number))
}

/// The id of a numbered process.
pub fn node_id(number: u32) -> NodeId {
    NodeId::new(sample_uuid(5, number))
}

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
    }
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
    };
    let conversation = Conversation {
        message_count: 1,
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
        answer: None,
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
        target,
        agent_id: agent.id,
        agent_version: agent.version,
        input: format!("Question {number}"),
        metadata: Metadata::new(),
        stamp: stamp(i64::from(number)),
        node: node_id(1),
        on_busy: OnBusy::Queue,
        claim: None,
        is_resumption: false,
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
        name: "time".to_owned(),
        arguments: json!({"zone": "Europe/Paris", "deep": [1, {"x": null}]}),
        status: "ok".to_owned(),
        duration_ms: 12,
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

/// The id of a numbered key.
pub fn key_id(number: u32) -> CredentialId {
    format!("Sample{number:06}").parse().expect("12 digits")
}

/// The id of a numbered client.
pub fn client_id(number: u32) -> CredentialId {
    format!("Client{number:06}").parse().expect("12 digits")
}

/// A new API key.
pub fn key(number: u32) -> Credential {
    Credential {
        kind: CredentialKind::Key,
        id: key_id(number),
        tenant: tenant(),
        name: format!("Key {number}"),
        scopes: [Scope::AgentsRead, Scope::ChatWrite].into_iter().collect(),
        proof: Proof::Secret(StoredSecret {
            digest: digest(7),
            last4: "4fZ1".to_owned(),
            previous: None,
        }),
        created_at: at(i64::from(number)),
        expires_at: None,
        last_used_at: None,
        revoked_at: None,
        allowed_origins: Vec::new(),
        limits: LimitOverrides::default(),
    }
}

/// A new client with a secret.
pub fn client(number: u32) -> Credential {
    Credential {
        kind: CredentialKind::Client,
        id: client_id(number),
        name: format!("Client {number}"),
        ..key(number)
    }
}

/// A new client with public keys.
pub fn signing_client(number: u32, keys: PublicKeys) -> Credential {
    Credential {
        proof: Proof::Keys(keys),
        ..client(number)
    }
}

/// A set with one public key.
pub fn key_set(number: u32) -> PublicKeys {
    let key =
        json!({"kty": "EC", "crv": "P-256", "kid": format!("key {number}"), "x": "x", "y": "y"});
    PublicKeys::Set(json!({"keys": [key]}))
}

/// A numbered digest.
pub fn digest(number: u8) -> SecretDigest {
    SecretDigest::new([number; 32])
}

/// A numbered secret that replaces the current one, which stays valid until `previous_until`.
pub fn new_secret(number: u8, previous_until: Option<Timestamp>) -> NewProof {
    NewProof::Secret {
        digest: digest(number),
        last4: format!("r{number:03}"),
        previous_until,
    }
}

/// The id of a numbered token.
pub fn token(number: u32) -> Uuid {
    sample_uuid(6, number)
}

/// A ticket that a page has requested with a numbered key.
pub fn ticket(number: u32) -> Ticket {
    let key = key(number);
    Ticket {
        principal: Principal {
            tenant: tenant(),
            id: key.principal(),
            scopes: [Scope::AgentsRead, Scope::EventsRead].into_iter().collect(),
            user_id: None,
        },
        credential: Some(key.id.clone()),
        allowed_origins: vec!["https://shop.example".to_owned()],
        limits: LimitOverrides {
            streams: Some(2),
            ..LimitOverrides::default()
        },
        source: CredentialSource::Key {
            id: key.id,
            digest: digest(7),
        },
        credential_ends_at: Some(at(600_000)),
        origin: Some("https://shop.example".to_owned()),
    }
}

/// A signing key created at the time of its number.
pub fn signing_key(number: u32) -> SigningKey {
    SigningKey {
        kid: format!("signing key {number}"),
        private_key: vec![1, 2, 3],
        is_sealed: false,
        public_key: json!({"kty": "EC", "kid": format!("signing key {number}")}),
        created_at: at(i64::from(number)),
        valid_until: None,
    }
}
