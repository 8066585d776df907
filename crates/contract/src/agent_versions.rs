//! `AgentRepository`: the versions of agents.

use std::sync::Arc;

use domain::{Agent, AgentId, TenantId};
use futures::future::join_all;

use crate::{
    Store, fixture,
    results::{ResultExt as _, event_count},
    setup,
};

/// The agent's next version, with other values of all members that a client sets.
fn changed(agent: &Agent) -> Agent {
    let version = agent.version + 1;
    let mut next = fixture::renamed(agent, &format!("Version {version} 🦊"));
    next.personality = "e\u{301}\n\"quoted\" \\ 'text'".repeat(usize::from(version % 2 == 0));
    next.capabilities = vec!["zeta".to_owned(), format!("v{version}")];
    next.config.engine = Some("rules".to_owned());
    next.config.unknown = fixture::unknown_members();
    next
}

async fn update(storage: &Store, next: &Agent) {
    let (tenant, stamp) = (fixture::tenant(), fixture::stamp(9));
    let result = storage.agents.update(&tenant, next, &stamp).await;
    assert_eq!(result.success().map(event_count), Some(1));
}

async fn find(storage: &Store, tenant: &TenantId, id: AgentId, version: i64) -> Option<Arc<Agent>> {
    let found = storage.agents.find_version(tenant, id, version).await;
    found.success()
}

/// Every version is found as it was written, whatever was written later.
pub async fn every_version_of_an_agent_is_found(storage: &Store) {
    let mut versions = vec![setup::agent(storage, 1).await];
    for _ in 0..3 {
        let next = changed(&versions[versions.len() - 1]);
        update(storage, &next).await;
        versions.push(next);
    }
    let (tenant, id) = (fixture::tenant(), versions[0].id);
    for agent in &versions {
        let found = find(storage, &tenant, id, agent.version).await;
        assert_eq!(found.as_deref(), Some(agent));
    }
    for version in [i64::MIN, 0, 5, i64::MAX] {
        assert_eq!(find(storage, &tenant, id, version).await, None, "{version}");
    }
}

/// A store may write large agents in another way than small ones.
pub async fn versions_of_a_large_agent_are_found(storage: &Store) {
    let mut agent = fixture::agent(1);
    agent.config.instructions = Some("x".repeat(100_000));
    let first = setup::insert_agent(storage, agent).await;
    let second = changed(&first);
    update(storage, &second).await;
    for agent in [first, second] {
        let found = find(storage, &fixture::tenant(), agent.id, agent.version).await;
        assert_eq!(found.as_deref(), Some(&agent));
    }
}

/// Agents that are created and changed together keep their own versions.
pub async fn versions_of_a_group_keep_their_own_values(storage: &Store) {
    let agents: Vec<_> = (1..=20).map(fixture::agent).collect();
    join_all(
        agents
            .iter()
            .map(|it| setup::insert_agent(storage, it.clone())),
    )
    .await;
    let changed: Vec<_> = agents.iter().map(changed).collect();
    join_all(changed.iter().map(|next| update(storage, next))).await;
    for agent in agents.iter().chain(&changed) {
        let found = find(storage, &fixture::tenant(), agent.id, agent.version).await;
        assert_eq!(found.as_deref(), Some(agent));
    }
}

/// `find_version` MUST NOT find versions of agents of another tenant, or of deleted agents.
pub async fn versions_of_other_tenants_and_deleted_agents_are_not_found(storage: &Store) {
    let (tenant, other) = (fixture::tenant(), setup::second_tenant(storage).await);
    let agent = setup::agent(storage, 1).await;
    update(storage, &changed(&agent)).await;
    for version in [1, 2] {
        assert_eq!(find(storage, &other, agent.id, version).await, None);
        assert!(find(storage, &tenant, agent.id, version).await.is_some());
    }
    setup::delete_agent(storage, &agent).await;
    for version in [1, 2] {
        assert_eq!(find(storage, &tenant, agent.id, version).await, None);
    }
}
