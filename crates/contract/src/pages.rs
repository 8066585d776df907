//! Walking through listings page by page.

use domain::{Agent, text::search_key};
use ports::{AgentFilter, AgentPosition, AgentQuery, Storage};

use crate::{answers::Answer as _, samples};

/// More pages than any test needs: a listing that never ends must fail, not hang.
pub(crate) const TOO_MANY_PAGES: usize = 200;

/// The position after which the page behind this agent begins.
pub(crate) fn after_agent(agent: &Agent) -> AgentPosition {
    AgentPosition {
        id: agent.id,
        name_key: search_key(&agent.name),
    }
}

/// One page of agents of the samples' tenant, and whether more follow.
pub(crate) async fn agents(
    storage: &Storage,
    filter: &AgentFilter,
    after: Option<&Agent>,
    limit: usize,
) -> (Vec<Agent>, bool) {
    let query = AgentQuery {
        filter: filter.clone(),
        after: after.map(after_agent),
        limit,
    };
    let tenant = samples::tenant();
    let page = storage.agents.list(&tenant, &query).await.answered().value;
    (page.items, page.has_more)
}

/// All agents behind `after`, in pages of `limit`.
pub(crate) async fn agents_behind(
    storage: &Storage,
    filter: &AgentFilter,
    mut after: Option<Agent>,
    limit: usize,
) -> Vec<Agent> {
    let mut all = Vec::new();
    for _ in 0..TOO_MANY_PAGES {
        let (items, has_more) = agents(storage, filter, after.as_ref(), limit).await;
        assert!(items.len() <= limit, "a page is longer than its limit");
        all.extend(items);
        if !has_more {
            return all;
        }
        after = all.last().cloned();
    }
    panic!("the listing does not end");
}

/// The names of all agents, in pages of `limit`.
pub(crate) async fn agent_names(
    storage: &Storage,
    filter: &AgentFilter,
    limit: usize,
) -> Vec<String> {
    let agents = agents_behind(storage, filter, None, limit).await;
    agents.into_iter().map(|agent| agent.name).collect()
}
