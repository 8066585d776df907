//! Reading listings page by page in tests.

use domain::{
    Agent, AgentReach, Conversation, Credential, CredentialKind, Listed, text::search_key,
};
use ports::{
    AgentFilter, AgentPosition, AgentQuery, ConversationFilter, ConversationPosition,
    ConversationQuery,
};

use crate::{Store, fixture, results::ResultExt as _};

/// More pages than any test needs, so that an endless listing fails instead of hanging.
pub(crate) const TOO_MANY_PAGES: usize = 200;

/// Returns the position of an agent.
pub(crate) fn after_agent(agent: &Listed<Agent>) -> AgentPosition {
    AgentPosition {
        sort_seq: agent.sort_seq,
        id: agent.item.id,
        name_key: search_key(&agent.item.name),
    }
}

/// Reads one page of agents of the fixture's tenant. Returns `true` if more follow.
pub(crate) async fn agents(
    storage: &Store,
    filter: &AgentFilter,
    after: Option<&Listed<Agent>>,
    limit: usize,
) -> (Vec<Listed<Agent>>, bool) {
    let query = AgentQuery {
        filter: filter.clone(),
        reach: AgentReach::ALL,
        after: after.map(after_agent),
        limit,
    };
    let tenant = fixture::tenant();
    let page = storage.agents.list(&tenant, &query).await.success().value;
    (page.items, page.has_more)
}

/// Reads all agents after `after`, in pages of `limit`.
pub(crate) async fn agents_behind(
    storage: &Store,
    filter: &AgentFilter,
    mut after: Option<Listed<Agent>>,
    limit: usize,
) -> Vec<Agent> {
    let mut all = Vec::new();
    for _ in 0..TOO_MANY_PAGES {
        let (items, has_more) = agents(storage, filter, after.as_ref(), limit).await;
        assert!(items.len() <= limit, "a page is longer than its limit");
        after = items.last().cloned();
        all.extend(items.into_iter().map(|listed| listed.item));
        if !has_more {
            return all;
        }
    }
    panic!("the listing does not end");
}

/// Reads the names of all agents, in pages of `limit`.
pub(crate) async fn agent_names(
    storage: &Store,
    filter: &AgentFilter,
    limit: usize,
) -> Vec<String> {
    let agents = agents_behind(storage, filter, None, limit).await;
    agents.into_iter().map(|agent| agent.name).collect()
}

/// Returns the position of a conversation.
fn after_conversation(conversation: &Listed<Conversation>) -> ConversationPosition {
    ConversationPosition {
        key: conversation.sort_seq.0,
        id: conversation.item.id,
    }
}

/// Reads one page of conversations of the fixture's tenant. Returns `true` if more follow.
pub(crate) async fn conversations(
    storage: &Store,
    filter: &ConversationFilter,
    after: Option<&Listed<Conversation>>,
    limit: usize,
) -> (Vec<Listed<Conversation>>, bool) {
    let query = ConversationQuery {
        filter: filter.clone(),
        after: after.map(after_conversation),
        limit,
    };
    let listed = storage.conversations.list(&fixture::tenant(), &query).await;
    let page = listed.success().value;
    (page.items, page.has_more)
}

/// Reads all conversations after `after`, in pages of `limit`.
pub(crate) async fn conversations_behind(
    storage: &Store,
    filter: &ConversationFilter,
    mut after: Option<Listed<Conversation>>,
    limit: usize,
) -> Vec<Conversation> {
    let mut all = Vec::new();
    for _ in 0..TOO_MANY_PAGES {
        let (items, has_more) = conversations(storage, filter, after.as_ref(), limit).await;
        assert!(items.len() <= limit, "a page is longer than its limit");
        assert!(
            !has_more || !items.is_empty(),
            "an empty page cannot be followed by another"
        );
        after = items.last().cloned();
        all.extend(items.into_iter().map(|listed| listed.item));
        if !has_more {
            return all;
        }
    }
    panic!("the listing does not end");
}

/// Reads all credentials of a kind of the fixture's tenant, in pages of `limit`.
pub(crate) async fn credentials(
    storage: &Store,
    kind: CredentialKind,
    limit: usize,
) -> Vec<Credential> {
    let (credentials, tenant) = (&storage.credentials, fixture::tenant());
    let (mut all, mut after) = (Vec::new(), None);
    for _ in 0..TOO_MANY_PAGES {
        let page = credentials.list(kind, &tenant, after, limit).await;
        let page = page.success();
        assert!(page.items.len() <= limit, "a page is longer than its limit");
        after = page.items.last().map(|last| last.sort_seq);
        all.extend(page.items.into_iter().map(|listed| listed.item));
        if !page.has_more {
            return all;
        }
    }
    panic!("the listing does not end");
}
