//! What a store holds before a promise is tried.

use domain::{Agent, Conversation, Credential, NodeId, SigningKey, TenantId, Timestamp};
use ports::{
    BeginOutcome, BeginTurn, CancelOutcome, Committed, Exchange, ExchangeOutcome, FinishOutcome,
    FinishTurn, PromotedTurn, Storage,
};

use crate::{
    answers::{self, Answer as _, OnceAnswer as _},
    samples,
};

/// More than any process needs in a test.
const LEASE: std::time::Duration = std::time::Duration::from_hours(1);

/// A second tenant.
pub(crate) async fn another_tenant(storage: &Storage) -> TenantId {
    tenant_named(storage, "another").await
}

/// A tenant of this name.
pub(crate) async fn tenant_named(storage: &Storage, name: &str) -> TenantId {
    let tenant = samples::tenant_named(name);
    let answer = storage.tenants.insert(&tenant, samples::at(0)).await;
    answer.answered();
    tenant
}

/// A numbered process that is alive.
pub(crate) async fn node(storage: &Storage, number: u32) -> NodeId {
    let id = samples::node_id(number);
    storage.nodes.insert(id, LEASE).await.answered();
    id
}

/// This agent, in the samples' tenant.
pub(crate) async fn stored_agent(storage: &Storage, agent: Agent) -> Agent {
    stored_agent_of(storage, &samples::tenant(), agent).await
}

/// This agent, in this tenant.
pub(crate) async fn stored_agent_of(storage: &Storage, tenant: &TenantId, agent: Agent) -> Agent {
    let stamp = samples::stamp(0);
    let answer = storage.agents.insert(tenant, &agent, &stamp, None).await;
    answer.done();
    agent
}

/// A numbered agent.
pub(crate) async fn agent(storage: &Storage, number: u32) -> Agent {
    stored_agent(storage, samples::agent(number)).await
}

/// That this agent has become its next version.
pub(crate) async fn agent_updated(storage: &Storage, next: &Agent) -> Committed {
    let (tenant, stamp) = (samples::tenant(), samples::stamp(500));
    let answer = storage.agents.update(&tenant, next, &stamp).await;
    answer.answered().expect("the agent is there")
}

/// That this agent is no more.
pub(crate) async fn agent_deleted(storage: &Storage, agent: &Agent) -> Committed {
    let (tenant, stamp) = (samples::tenant(), samples::stamp(1_000));
    answers::deleted(storage.agents.delete(&tenant, agent.id, None, &stamp).await)
}

/// This conversation, in the samples' tenant.
pub(crate) async fn stored_conversation(
    storage: &Storage,
    conversation: Conversation,
) -> Conversation {
    stored_conversation_of(storage, &samples::tenant(), conversation).await
}

/// This conversation, in this tenant.
pub(crate) async fn stored_conversation_of(
    storage: &Storage,
    tenant: &TenantId,
    conversation: Conversation,
) -> Conversation {
    let stamp = samples::stamp(0);
    let conversations = &storage.conversations;
    let answer = conversations.insert(tenant, &conversation, None, &stamp, None);
    answer.await.done().expect("the agent is there");
    conversation
}

/// A numbered conversation with this agent.
pub(crate) async fn conversation(storage: &Storage, number: u32, agent: &Agent) -> Conversation {
    stored_conversation(storage, samples::conversation(number, agent.id)).await
}

/// That this conversation has become its next version.
pub(crate) async fn conversation_updated(storage: &Storage, next: &Conversation) -> Conversation {
    let (tenant, stamp) = (samples::tenant(), samples::stamp(500));
    let answer = storage.conversations.update(&tenant, next, &stamp).await;
    answer.answered().expect("the conversation is there").1
}

/// That this conversation is no more.
pub(crate) async fn conversation_deleted(
    storage: &Storage,
    conversation: &Conversation,
) -> Committed {
    let (tenant, stamp) = (samples::tenant(), samples::stamp(1_000));
    let conversations = &storage.conversations;
    let answer = conversations.delete(&tenant, conversation.id, None, &stamp);
    answers::deleted(answer.await)
}

/// Agent 1, conversation 1, and node 1 alive: all that a chat needs.
pub(crate) async fn chat(storage: &Storage) -> (Agent, Conversation) {
    node(storage, 1).await;
    let agent = agent(storage, 1).await;
    let conversation = conversation(storage, 1, &agent).await;
    (agent, conversation)
}

/// An exchange that is stored.
pub(crate) async fn recorded(storage: &Storage, exchange: Exchange) -> Committed {
    match storage.turns.record_exchange(exchange).await.answered() {
        ExchangeOutcome::Recorded { committed, .. } => committed,
        other => panic!("not recorded: {other:?}"),
    }
}

/// What is known of a turn that started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Started {
    pub(crate) committed: Committed,
    pub(crate) message_seq: i64,
    pub(crate) turn_number: i64,
}

/// A turn that runs.
pub(crate) async fn started(storage: &Storage, question: &BeginTurn) -> Started {
    match storage.turns.begin_turn(question.clone()).await.answered() {
        BeginOutcome::Started {
            committed,
            message_seq,
            turn_number,
        } => Started {
            committed,
            message_seq,
            turn_number,
        },
        other => panic!("not started: {other:?}"),
    }
}

/// A turn that waits.
pub(crate) async fn queued(storage: &Storage, question: &BeginTurn) -> Committed {
    match storage.turns.begin_turn(question.clone()).await.answered() {
        BeginOutcome::Queued(committed) => committed,
        other => panic!("not queued: {other:?}"),
    }
}

/// A turn that has ended, and the one that starts in its place.
pub(crate) async fn finished(
    storage: &Storage,
    finish: FinishTurn,
) -> (Committed, Option<PromotedTurn>) {
    match storage.turns.finish_turn(finish).await.answered() {
        FinishOutcome::Finished {
            committed,
            promoted,
        } => (committed, promoted.map(|promoted| *promoted)),
        FinishOutcome::Refused => panic!("the end of the turn was refused"),
    }
}

/// A turn that was cancelled without a word, and the one that starts in its place at `node`.
pub(crate) async fn cancelled(
    storage: &Storage,
    question: &BeginTurn,
    node: Option<NodeId>,
) -> (Committed, Option<PromotedTurn>) {
    let stamp = samples::stamp(900);
    let turns = &storage.turns;
    let answer = turns.cancel_turn(&question.tenant, question.turn_id, None, node, &stamp);
    match answer.await.answered() {
        CancelOutcome::Cancelled {
            committed,
            promoted,
        } => (committed, promoted.map(|promoted| *promoted)),
        other => panic!("not cancelled: {other:?}"),
    }
}

/// This key or client.
pub(crate) async fn credential(storage: &Storage, credential: Credential) -> Credential {
    let answer = storage.credentials.insert(&credential, None).await;
    answer.done();
    credential
}

/// That this key or client is refused from then on.
pub(crate) async fn revoked(storage: &Storage, credential: &Credential, at: Timestamp) {
    let Credential {
        kind, tenant, id, ..
    } = credential;
    let answer = storage.credentials.revoke(*kind, tenant, id, at).await;
    assert!(answer.answered(), "there is such a credential");
}

/// This signing key, when `newest` is the newest; those before it end at `previous_until`.
pub(crate) async fn signing_key(
    storage: &Storage,
    key: SigningKey,
    newest: Option<&SigningKey>,
    previous_until: Timestamp,
) -> SigningKey {
    let newest = newest.map(|newest| newest.kid.as_str());
    let answer = storage.signing_keys.add(&key, newest, previous_until).await;
    assert!(answer.answered(), "another key is the newest");
    key
}
