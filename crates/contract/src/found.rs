//! What the store shows of the samples' tenant.

use domain::{
    Agent, AgentId, Conversation, ConversationHead, ConversationId, Credential, IdempotencyClaim,
    IdempotencyRecord, Message, SigningKey, Turn, TurnId,
};
use ports::{FoundTurn, MessageOrder, MessageQuery, Storage};

use crate::{answers::Answer as _, samples};

/// An agent, if it is there.
pub(crate) async fn agent(storage: &Storage, id: AgentId) -> Option<Agent> {
    let found = storage.agents.find(&samples::tenant(), id).await;
    found.answered().value.map(|agent| Agent::clone(&agent))
}

/// A conversation, if it is there.
pub(crate) async fn conversation(storage: &Storage, id: ConversationId) -> Option<Conversation> {
    let found = storage.conversations.find(&samples::tenant(), id).await;
    found.answered().value
}

/// What a chat needs to know of a conversation that is there.
pub(crate) async fn head(storage: &Storage, id: ConversationId) -> ConversationHead {
    let tenant = samples::tenant();
    let found = storage.conversations.find_head(&tenant, id).await;
    let head = found.answered().value.expect("the conversation is there");
    ConversationHead::clone(&head)
}

/// All messages of a conversation that is there, oldest first.
pub(crate) async fn messages(storage: &Storage, id: ConversationId) -> Vec<Message> {
    let query = MessageQuery {
        order: MessageOrder::Ascending,
        after: None,
        limit: 10_000,
    };
    let tenant = samples::tenant();
    let found = storage.conversations.messages(&tenant, id, &query).await;
    let page = found.answered().value.expect("the conversation is there");
    page.items
}

/// A turn and whose it is, if it is there.
pub(crate) async fn turn_with_owner(storage: &Storage, id: TurnId) -> Option<FoundTurn> {
    let found = storage.turns.find(&samples::tenant(), id).await;
    found.answered().value
}

/// A turn, if it is there.
pub(crate) async fn turn(storage: &Storage, id: TurnId) -> Option<Turn> {
    turn_with_owner(storage, id).await.map(|found| found.turn)
}

/// What a key was used for.
pub(crate) async fn claim(
    storage: &Storage,
    claim: &IdempotencyClaim,
) -> Option<IdempotencyRecord> {
    let found = storage.claims.find(&samples::tenant(), claim).await;
    found.answered()
}

/// What is stored under the id and kind of this credential.
pub(crate) async fn credential(storage: &Storage, like: &Credential) -> Option<Credential> {
    let found = storage.credentials.find(like.kind, &like.id).await;
    found.answered()
}

/// The number that grows when something becomes less powerful.
pub(crate) async fn access_version(storage: &Storage) -> i64 {
    storage.credentials.access_version().await.answered()
}

/// All signing keys.
pub(crate) async fn signing_keys(storage: &Storage) -> Vec<SigningKey> {
    storage.signing_keys.list().await.answered()
}
