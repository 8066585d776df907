//! Things to put into a store: fixed times and numbered ids, no clock and no chance.
//!
//! Everything is known by a number: a greater number is a later id and a later time.

use domain::{
    Agent, AgentConfig, AgentId, Conversation, ConversationId, Credential, CredentialId,
    CredentialKind, Fingerprint, IdempotencyClaim, LimitOverrides, Message, MessageId, NodeId,
    Principal, PrincipalId, Problem, ProblemCode, Role, Scope, SecretDigest, SigningKey, Stamp,
    Standing, TenantId, Ticket, Timestamp, ToolCall, TurnId,
    admission::OnBusy,
    config::Metadata,
    credential::{Proof, PublicKeys, StoredSecret},
};
use ports::{BeginTurn, Exchange, ExchangeTarget, FinishTurn, NewProof, Reply, TurnEnding};
use serde_json::json;
use uuid::Uuid;

/// 2026-11-20T09:30:00.000Z.
const START: i64 = 1_795_167_000_000;

/// The tenant of a migrated store.
pub fn tenant() -> TenantId {
    tenant_named(TenantId::DEFAULT)
}

/// A tenant of this name.
pub fn tenant_named(name: &str) -> TenantId {
    name.parse().expect("a well-formed tenant id")
}

/// A moment, so many milliseconds after the start of all samples.
pub fn at(milliseconds: i64) -> Timestamp {
    Timestamp::from_milliseconds(START + milliseconds)
}

/// Who makes the changes of the samples.
pub fn principal() -> PrincipalId {
    PrincipalId::new("key:Sample000001")
}

/// The mark of a change at a moment.
pub fn stamp(milliseconds: i64) -> Stamp {
    Stamp {
        time: at(milliseconds),
        actor: principal(),
    }
}

/// A UUIDv7 that follows from its kind and number alone.
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

/// A new agent of this name.
pub fn agent_named(number: u32, name: &str) -> Agent {
    Agent {
        name: name.to_owned(),
        ..agent(number)
    }
}

/// A new agent that can do this.
pub fn agent_able_to(number: u32, capabilities: &[&str]) -> Agent {
    Agent {
        capabilities: capabilities.iter().map(ToString::to_string).collect(),
        ..agent(number)
    }
}

/// The next version of an agent, under another name.
pub fn renamed(agent: &Agent, name: &str) -> Agent {
    Agent {
        name: name.to_owned(),
        version: agent.version + 1,
        updated_at: agent.updated_at + std::time::Duration::from_millis(1),
        ..agent.clone()
    }
}

/// A new conversation in which nothing was said.
pub fn conversation(number: u32, agent: AgentId) -> Conversation {
    Conversation {
        user_id: Some("ada".to_owned()),
        ..Conversation::empty(conversation_id(number), agent, at(i64::from(number)))
    }
}

/// The next version of a conversation, under another title.
pub fn retitled(conversation: &Conversation, title: &str) -> Conversation {
    Conversation {
        title: Some(title.to_owned()),
        version: conversation.version + 1,
        updated_at: conversation.updated_at + std::time::Duration::from_millis(1),
        ..conversation.clone()
    }
}

/// The greeting with which a conversation begins, and the conversation with it.
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

/// A claim on a key, without an answer.
pub fn claim(key: &str) -> IdempotencyClaim {
    IdempotencyClaim {
        principal: principal(),
        operation: "POST /api/samples",
        key: key.parse().expect("a well-formed idempotency key"),
        fingerprint: Fingerprint::of(&key),
        created_at: at(0),
        answer: None,
    }
}

/// A conversation that exists, in which so many turns have started.
pub const fn existing(conversation: &Conversation, turn_count: i64) -> ExchangeTarget {
    ExchangeTarget::Existing {
        id: conversation.id,
        turn_count,
    }
}

/// A question that waits when it must, asked by node 1 at the moment of its number.
pub fn question(number: u32, agent: &Agent, target: ExchangeTarget) -> BeginTurn {
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
        goes_on: false,
    }
}

/// The answer to a numbered question.
pub fn reply(number: u32) -> Reply {
    Reply {
        message_id: message_id(2 * number + 1),
        content: format!("Answer {number}"),
        engine: "rules".to_owned(),
        degraded: false,
        finish_reason: domain::FinishReason::Stop,
        usage: None,
        tool_calls: Vec::new(),
    }
}

/// A call of a tool, with arguments of every kind.
pub fn tool_call() -> ToolCall {
    ToolCall {
        name: "time".to_owned(),
        arguments: json!({"zone": "Europe/Paris", "deep": [1, {"x": null}]}),
        status: "ok".to_owned(),
        duration_ms: 12,
    }
}

/// A question and its answer at once.
pub fn exchange(number: u32, agent: &Agent, target: ExchangeTarget) -> Exchange {
    Exchange {
        question: question(number, agent, target),
        reply: reply(number),
        finished_at: at(i64::from(number)),
    }
}

/// The end of a turn that began with [`question`], ten milliseconds after its beginning.
pub fn finish(question: &BeginTurn, ending: TurnEnding) -> FinishTurn {
    FinishTurn {
        tenant: question.tenant.clone(),
        turn_id: question.turn_id,
        conversation_id: question.target.id(),
        node: question.node,
        ending,
        stamp: Stamp {
            time: question.stamp.time + std::time::Duration::from_millis(10),
            actor: principal(),
        },
        promote: true,
    }
}

/// A failure after which the same request may succeed.
pub fn retryable_problem() -> Problem {
    Problem::new(ProblemCode::EngineUnavailable)
}

/// A failure that stays.
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

/// A new key.
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

/// A new client that signs.
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

/// A numbered secret in place of the one before, which stays good until then.
pub fn new_secret(number: u8, previous_until: Option<Timestamp>) -> NewProof {
    NewProof::Secret {
        digest: digest(number),
        last4: format!("r{number:03}"),
        previous_until,
    }
}

/// A numbered token's id.
pub fn token(number: u32) -> Uuid {
    sample_uuid(6, number)
}

/// A ticket that a page fetched with a numbered key.
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
        standing: Standing::Key {
            id: key.id,
            digest: digest(7),
        },
        credential_ends_at: Some(at(600_000)),
        origin: Some("https://shop.example".to_owned()),
    }
}

/// A key that signs from the moment of its number on.
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
