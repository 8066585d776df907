//! Writing the initial state of a test to a store. Without a parameter for it, the tenant is the
//! fixture's.

use domain::{Agent, Conversation, Credential, NodeId, SigningKey, TenantId, Timestamp};
use ports::FirstMessages;
use writes::{
    BeginOutcome, BeginTurn, CancelOutcome, Committed, CompletedTurn, FinishOutcome, FinishTurn,
    PromotedTurn, RecordTurnOutcome, TurnEnding, TurnMessages,
};

use crate::{
    Store, fixture,
    results::{self, IdempotentExt as _, ResultExt as _},
};

/// A lease longer than any test.
const LEASE: std::time::Duration = std::time::Duration::from_hours(1);

/// Creates a second tenant.
pub(crate) async fn second_tenant(storage: &Store) -> TenantId {
    tenant_named(storage, "another").await
}

/// Creates a tenant with this name.
pub(crate) async fn tenant_named(storage: &Store, name: &str) -> TenantId {
    let tenant = fixture::tenant_named(name);
    let result = storage.tenants.insert(&tenant, fixture::at(0)).await;
    result.success();
    tenant
}

/// Registers a numbered process.
pub(crate) async fn node(storage: &Store, number: u32) -> NodeId {
    let id = fixture::node_id(number);
    storage
        .nodes
        .insert(id, &fixture::process(), LEASE)
        .await
        .success();
    id
}

/// Inserts an agent.
pub(crate) async fn insert_agent(storage: &Store, agent: Agent) -> Agent {
    insert_agent_in(storage, &fixture::tenant(), agent).await
}

/// Inserts an agent of this tenant.
pub(crate) async fn insert_agent_in(storage: &Store, tenant: &TenantId, agent: Agent) -> Agent {
    let stamp = fixture::stamp(0);
    let result = storage.agents.insert(tenant, &agent, &stamp, None).await;
    result.applied();
    agent
}

/// Inserts a numbered agent.
pub(crate) async fn agent(storage: &Store, number: u32) -> Agent {
    insert_agent(storage, fixture::agent(number)).await
}

/// Updates an agent to its next version.
pub(crate) async fn update_agent(storage: &Store, next: &Agent) -> Committed {
    let (tenant, stamp) = (fixture::tenant(), fixture::stamp(500));
    let result = storage.agents.update(&tenant, next, &stamp).await;
    result.success().expect("the agent exists")
}

/// Deletes an agent.
pub(crate) async fn delete_agent(storage: &Store, agent: &Agent) -> Committed {
    let (tenant, stamp) = (fixture::tenant(), fixture::stamp(1_000));
    results::deleted(storage.agents.delete(&tenant, agent.id, None, &stamp).await)
}

/// Inserts a conversation.
pub(crate) async fn insert_conversation(
    storage: &Store,
    conversation: Conversation,
) -> Conversation {
    insert_conversation_in(storage, &fixture::tenant(), conversation).await
}

/// Inserts a conversation of this tenant.
pub(crate) async fn insert_conversation_in(
    storage: &Store,
    tenant: &TenantId,
    conversation: Conversation,
) -> Conversation {
    let stamp = fixture::stamp(0);
    let conversations = &storage.conversations;
    let result = conversations.insert(tenant, &conversation, &FirstMessages::None, &stamp, None);
    result.await.applied().expect("the agent exists");
    conversation
}

/// Inserts a numbered conversation with this agent.
pub(crate) async fn conversation(storage: &Store, number: u32, agent: &Agent) -> Conversation {
    insert_conversation(storage, fixture::conversation(number, agent.id)).await
}

/// Updates a conversation to its next version.
pub(crate) async fn update_conversation(storage: &Store, next: &Conversation) -> Conversation {
    let (tenant, stamp) = (fixture::tenant(), fixture::stamp(500));
    let result = storage.conversations.update(&tenant, next, &stamp).await;
    result.success().expect("the conversation exists").1
}

/// Deletes a conversation.
pub(crate) async fn delete_conversation(storage: &Store, conversation: &Conversation) -> Committed {
    let (tenant, stamp) = (fixture::tenant(), fixture::stamp(1_000));
    let conversations = &storage.conversations;
    let result = conversations.delete(&tenant, conversation.id, None, &stamp);
    results::deleted(result.await)
}

/// Stores agent 1, conversation 1 and process 1: the minimum for a chat.
pub(crate) async fn chat(storage: &Store) -> (Agent, Conversation) {
    node(storage, 1).await;
    let agent = agent(storage, 1).await;
    let conversation = conversation(storage, 1, &agent).await;
    (agent, conversation)
}

/// Stores the minimum for a chat, and completed turns numbered from 1: messages 1 and 2, 3 and 4 …
pub(crate) async fn chat_with_turns(storage: &Store, count: u32) -> (Agent, Conversation) {
    let (agent, conversation) = chat(storage).await;
    for number in 1..=count {
        let target = fixture::existing(&conversation, i64::from(number) - 1);
        record_turn(storage, fixture::completed_turn(number, &agent, target)).await;
    }
    (agent, conversation)
}

/// Records a completed turn.
pub(crate) async fn record_turn(storage: &Store, turn: CompletedTurn) -> Committed {
    match storage.turns.record_completed_turn(turn).await.success() {
        RecordTurnOutcome::Recorded { committed, .. } => committed,
        other => panic!("not recorded: {other:?}"),
    }
}

/// The data of a turn that has started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Started {
    pub(crate) committed: Committed,
    pub(crate) messages: TurnMessages,
}

/// Begins a turn that must start at once.
pub(crate) async fn start_turn(storage: &Store, begin: &BeginTurn) -> Started {
    match storage.turns.begin_turn(begin.clone()).await.success() {
        BeginOutcome::Started {
            committed,
            messages,
        } => Started {
            committed,
            messages,
        },
        other => panic!("not started: {other:?}"),
    }
}

/// Begins a turn that must be queued.
pub(crate) async fn queue_turn(storage: &Store, begin: &BeginTurn) -> Committed {
    match storage.turns.begin_turn(begin.clone()).await.success() {
        BeginOutcome::Queued(committed) => committed,
        other => panic!("not queued: {other:?}"),
    }
}

/// Completes a turn with the reply of `number`.
pub(crate) async fn complete_turn(storage: &Store, begin: &BeginTurn, number: u32) {
    let ending = TurnEnding::Completed(fixture::reply(number));
    finish_turn(storage, fixture::finish(begin, ending)).await;
}

/// Fails a turn so that it releases its key.
pub(crate) async fn fail_turn(storage: &Store, begin: &BeginTurn) {
    let ending = TurnEnding::failed(fixture::retryable_problem());
    finish_turn(storage, fixture::finish(begin, ending)).await;
}

/// Ends a turn. Returns the turn that is promoted in its place.
pub(crate) async fn finish_turn(
    storage: &Store,
    finish: FinishTurn,
) -> (Committed, Option<PromotedTurn>) {
    match storage.turns.finish_turn(finish).await.success() {
        FinishOutcome::Finished {
            committed,
            promoted,
        } => (committed, promoted.map(|promoted| *promoted)),
        FinishOutcome::NotOwned => panic!("the end of the turn was rejected"),
    }
}

/// Cancels a turn without a partial reply. Returns the turn that is promoted to `node` in its
/// place.
pub(crate) async fn cancel_turn(
    storage: &Store,
    begin: &BeginTurn,
    node: Option<NodeId>,
) -> (Committed, Option<PromotedTurn>) {
    let stamp = fixture::stamp(900);
    let turns = &storage.turns;
    let result = turns.cancel_turn(&begin.tenant, begin.turn_id, None, node, &stamp);
    match result.await.success() {
        CancelOutcome::Cancelled {
            committed,
            promoted,
        } => (committed, promoted.map(|promoted| *promoted)),
        other => panic!("not cancelled: {other:?}"),
    }
}

/// Inserts a key or client.
pub(crate) async fn credential(storage: &Store, credential: Credential) -> Credential {
    let result = storage.credentials.insert(&credential, None).await;
    result.applied();
    credential
}

/// Revokes a key or client.
pub(crate) async fn revoke(storage: &Store, credential: &Credential, at: Timestamp) {
    let Credential {
        kind, tenant, id, ..
    } = credential;
    let result = storage.credentials.revoke(*kind, tenant, id, at).await;
    assert!(result.success(), "the credential does not exist");
}

/// Adds a signing key if `newest` is the newest one. The earlier keys expire at `previous_until`.
pub(crate) async fn signing_key(
    storage: &Store,
    key: SigningKey,
    newest: Option<&SigningKey>,
    previous_until: Timestamp,
) -> SigningKey {
    let newest = newest.map(|newest| newest.kid.as_str());
    let result = storage.signing_keys.add(&key, newest, previous_until).await;
    assert!(result.success(), "another key is the newest");
    key
}
