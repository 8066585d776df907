//! Reading from a store in tests. All functions read data of the fixture's tenant.

use std::sync::Arc;

use domain::{
    Agent, AgentId, Conversation, ConversationId, ConversationState, Credential, IdempotencyEntry,
    IdempotencyRecord, Message, SigningKey, TenantId, Turn, TurnId, TurnStep,
};
use ports::{
    Decided, Decision, Facts, FactsQuery, FoundTurn, Lane, ListingOrder, MessageQuery, Rows,
};

use crate::{Store, fixture, results::ResultExt as _};

/// Reads the journal of a turn and writes nothing.
struct ReadJournal(TenantId, TurnId);

impl Decision for ReadJournal {
    fn decide(&self, round: usize, _: &Facts) -> Decided {
        if round > 0 {
            return Decided::Write(Rows::default());
        }
        Decided::Read(FactsQuery {
            tenants: [self.0.clone()].into(),
            journals: [(self.0.clone(), self.1)].into(),
            ..FactsQuery::default()
        })
    }
}

/// Reads the journal of a turn.
pub async fn journal(storage: &Store, id: TurnId) -> Vec<TurnStep> {
    journal_in(storage, &fixture::tenant(), id).await
}

/// Reads the journal of a turn of any tenant.
pub(crate) async fn journal_in(storage: &Store, tenant: &TenantId, id: TurnId) -> Vec<TurnStep> {
    let read = Arc::new(ReadJournal(tenant.clone(), id));
    let read = storage.ports().writes.transact(read, Lane::Group).await;
    let facts = read.expect("the store responds").facts;
    facts.journal(tenant, id).to_vec()
}

/// Reads an agent, if it exists.
pub(crate) async fn agent(storage: &Store, id: AgentId) -> Option<Agent> {
    let found = storage.agents.find(&fixture::tenant(), id).await;
    found.success().value.map(|agent| Agent::clone(&agent))
}

/// Reads a conversation, if it exists.
pub(crate) async fn conversation(storage: &Store, id: ConversationId) -> Option<Conversation> {
    let found = storage.conversations.find(&fixture::tenant(), id).await;
    found.success().value.map(|listed| listed.item)
}

/// Reads the state of an existing conversation.
pub(crate) async fn state(storage: &Store, id: ConversationId) -> ConversationState {
    let tenant = fixture::tenant();
    let found = storage.conversations.find_state(&tenant, id).await;
    let state = found.success().value.expect("the conversation exists");
    ConversationState::clone(&state)
}

/// Reads all messages of an existing conversation that are not superseded, oldest first.
pub(crate) async fn messages(storage: &Store, id: ConversationId) -> Vec<Message> {
    messages_of(storage, id, false).await
}

/// Reads all messages of an existing conversation, oldest first.
pub(crate) async fn all_messages(storage: &Store, id: ConversationId) -> Vec<Message> {
    messages_of(storage, id, true).await
}

async fn messages_of(storage: &Store, id: ConversationId, with_superseded: bool) -> Vec<Message> {
    let query = MessageQuery {
        order: ListingOrder::Ascending,
        after: None,
        limit: 10_000,
        with_superseded,
    };
    let tenant = fixture::tenant();
    let found = storage.conversations.messages(&tenant, id, &query).await;
    let page = found.success().value.expect("the conversation exists");
    page.items
}

/// Reads the `seq` of all messages of an existing conversation that are not superseded.
pub(crate) async fn message_seqs(storage: &Store, id: ConversationId) -> Vec<i64> {
    let messages = messages(storage, id).await;
    messages.iter().map(|message| message.seq).collect()
}

/// Removes the state of its turn from a message of a listing.
pub(crate) fn without_turn(message: Message) -> Message {
    Message {
        turn_status: None,
        error: None,
        tool_calls: Vec::new(),
        ..message
    }
}

/// Reads a turn with its owner, if it exists.
pub(crate) async fn turn_with_owner(storage: &Store, id: TurnId) -> Option<FoundTurn> {
    let found = storage.turns.find(&fixture::tenant(), id).await;
    found.success().value
}

/// Reads a turn, if it exists.
pub(crate) async fn turn(storage: &Store, id: TurnId) -> Option<Turn> {
    turn_with_owner(storage, id).await.map(|found| found.turn)
}

/// Reads the record of the key of an entry.
pub(crate) async fn record(storage: &Store, entry: &IdempotencyEntry) -> Option<IdempotencyRecord> {
    let found = storage.idempotency.find(&fixture::tenant(), entry).await;
    found.success()
}

/// Reads the credential with the id and kind of `like`.
pub(crate) async fn credential(storage: &Store, like: &Credential) -> Option<Credential> {
    let found = storage.credentials.find(like.kind, &like.id).await;
    found.success()
}

/// Reads the access version.
pub(crate) async fn access_version(storage: &Store) -> i64 {
    storage.credentials.access_version().await.success()
}

/// Reads all signing keys.
pub(crate) async fn signing_keys(storage: &Store) -> Vec<SigningKey> {
    storage.signing_keys.list().await.success()
}
