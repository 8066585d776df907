//! `AgentRepository::list`: orders, filters, and pages that stay correct during changes.

use domain::{Agent, AgentId, AgentReach, Listed, Seq};
use ports::{AgentFilter, AgentPosition, AgentQuery};

use crate::{
    Store, fixture,
    pages::{after_agent, agents, agents_behind},
    results::ResultExt as _,
    setup,
};

pub(crate) async fn store_names(storage: &Store, names: &[&str]) {
    for (number, name) in (1..).zip(names) {
        setup::insert_agent(storage, fixture::agent_named(number, name)).await;
    }
}

pub(crate) fn name_prefix(prefix: &str) -> AgentFilter {
    AgentFilter::NamePrefix(prefix.to_owned())
}

pub(crate) fn ids(agents: &[Agent]) -> Vec<AgentId> {
    agents.iter().map(|agent| agent.id).collect()
}

fn ids_of_page(agents: &[Listed<Agent>]) -> Vec<AgentId> {
    agents.iter().map(|listed| listed.item.id).collect()
}

/// `All` is newest first, in the commit order of the creations, whatever the ids and times are.
pub async fn agents_are_listed_newest_first(storage: &Store) {
    for number in [2, 5, 1, 4, 3] {
        setup::agent(storage, number).await;
    }
    let all = agents_behind(storage, &AgentFilter::All, None, 2).await;
    assert_eq!(ids(&all), [3, 4, 1, 5, 2].map(fixture::agent_id));
    assert_eq!(all[0], fixture::agent(3));
    let able = agents_behind(storage, &capability("time"), None, 2).await;
    assert_eq!(able, all);
}

/// `has_more` is exact, also if the last page is full.
pub async fn has_more_is_exact_for_agents(storage: &Store) {
    assert_eq!(
        agents(storage, &AgentFilter::All, None, 3).await,
        (vec![], false)
    );
    for number in 1..=4 {
        setup::agent(storage, number).await;
    }
    let (page, has_more) = agents(storage, &AgentFilter::All, None, 3).await;
    assert_eq!((page.len(), has_more), (3, true));
    let (page, has_more) = agents(storage, &AgentFilter::All, None, 4).await;
    assert_eq!((page.len(), has_more), (4, false));
}

/// An agent that exists during the whole listing MUST appear exactly once across all pages.
pub async fn every_agent_is_listed_once_during_creations_and_deletions(storage: &Store) {
    for filter in [AgentFilter::All, name_prefix("agent")] {
        let base = if filter == AgentFilter::All { 0 } else { 100 };
        for number in 1..=9 {
            setup::agent(storage, base + 10 * number).await;
        }
        let (first, _) = agents(storage, &filter, None, 3).await;
        setup::agent(storage, base + 15).await;
        setup::agent(storage, base + 99).await;
        let doomed = fixture::agent(base + 30);
        setup::delete_agent(storage, &doomed).await;
        let rest = agents_behind(storage, &filter, first.last().cloned(), 3).await;
        let shown = [ids_of_page(&first), ids(&rest)].concat();
        for number in (1..=9).filter(|number| *number != 3) {
            let id = fixture::agent_id(base + 10 * number);
            let times = shown.iter().filter(|shown| **shown == id).count();
            assert_eq!(times, 1, "agent {number} of {filter:?}");
        }
    }
}

/// A position stays valid after its agent is deleted.
pub async fn a_listing_continues_after_a_deleted_agent(storage: &Store) {
    for number in 1..=4 {
        setup::agent(storage, number).await;
    }
    for (filter, last, expected) in [
        (name_prefix("agent"), 2, vec![3, 4]),
        (AgentFilter::All, 3, vec![1]),
    ] {
        let (page, _) = agents(storage, &filter, None, 2).await;
        assert_eq!(page[1].item.id, fixture::agent_id(last));
        setup::delete_agent(storage, &page[1].item).await;
        let rest = agents_behind(storage, &filter, Some(page[1].clone()), 2).await;
        let expected: Vec<_> = expected.into_iter().map(fixture::agent_id).collect();
        assert_eq!(ids(&rest), expected, "{filter:?}");
    }
}

pub(crate) fn capability(name: &str) -> AgentFilter {
    AgentFilter::Capability(name.to_owned())
}

/// `Capability` is exact: it matches neither a part of a name nor a different case.
pub async fn agents_are_listed_by_exact_capability(storage: &Store) {
    for (number, capabilities) in [
        (1, ["time", "orders"]),
        (2, ["Time", "timer"]),
        (3, ["время 🕰", "time"]),
        (4, ["ti", "t%me"]),
    ] {
        let agent = fixture::agent_able_to(number, &capabilities);
        setup::insert_agent(storage, agent).await;
    }
    for (name, expected) in [
        ("time", vec![3, 1]),
        ("Time", vec![2]),
        ("время 🕰", vec![3]),
        ("t%me", vec![4]),
        ("none", vec![]),
    ] {
        let found = agents_behind(storage, &capability(name), None, 1).await;
        let expected: Vec<_> = expected.into_iter().map(fixture::agent_id).collect();
        assert_eq!(ids(&found), expected, "{name}");
    }
}

/// `Ids` lists each agent once, newest first, and omits ids without an agent. A page continues like
/// any other.
pub async fn agents_are_listed_by_id(storage: &Store) {
    for number in [2, 5, 1, 4, 3] {
        setup::agent(storage, number).await;
    }
    let filter = |numbers: &[u32]| {
        AgentFilter::Ids(numbers.iter().copied().map(fixture::agent_id).collect())
    };
    for (numbers, expected) in [
        (&[5, 9, 1, 2, 3][..], &[3, 1, 5, 2][..]),
        (&[9], &[]),
        (&[], &[]),
    ] {
        for limit in [1, 2, 100] {
            let found = agents_behind(storage, &filter(numbers), None, limit).await;
            let expected: Vec<_> = expected.iter().copied().map(fixture::agent_id).collect();
            assert_eq!(ids(&found), expected, "{numbers:?} in pages of {limit}");
        }
    }
    let newest = agents(storage, &filter(&[3]), None, 1).await;
    assert_eq!((&newest.0[0].item, newest.1), (&fixture::agent(3), false));
}

/// An update can add and remove capabilities.
pub async fn a_capability_listing_reflects_updates(storage: &Store) {
    let agent = fixture::agent_able_to(1, &["orders", "time"]);
    let agent = setup::insert_agent(storage, agent).await;
    let next = Agent {
        capabilities: vec!["time".to_owned(), "returns".to_owned()],
        ..fixture::renamed(&agent, "Grace")
    };
    setup::update_agent(storage, &next).await;
    for (name, expected) in [
        ("orders", vec![]),
        ("time", vec![next.clone()]),
        ("returns", vec![next]),
    ] {
        let found = agents_behind(storage, &capability(name), None, 10).await;
        assert_eq!(found, expected, "{name}");
    }
}

/// A position stays valid after its agent no longer passes the filter.
pub async fn a_capability_listing_continues_after_agents_lose_the_capability(storage: &Store) {
    for number in 1..=5 {
        setup::agent(storage, number).await;
    }
    let (page, _) = agents(storage, &capability("time"), None, 2).await;
    let last = page[1].clone();
    let next = Agent {
        capabilities: Vec::new(),
        ..fixture::renamed(&last.item, "Grace")
    };
    setup::update_agent(storage, &next).await;
    let rest = agents_behind(storage, &capability("time"), Some(last), 2).await;
    assert_eq!(ids(&rest), [3, 2, 1].map(fixture::agent_id));
}

/// Deleted agents appear in no listing.
pub async fn deleted_agents_are_not_listed(storage: &Store) {
    let (kept, doomed) = (
        setup::agent(storage, 1).await,
        setup::agent(storage, 2).await,
    );
    setup::delete_agent(storage, &doomed).await;
    let by_id = AgentFilter::Ids(vec![kept.id, doomed.id]);
    for filter in [AgentFilter::All, name_prefix(""), capability("time"), by_id] {
        let found = agents_behind(storage, &filter, None, 10).await;
        assert_eq!(ids(&found), [kept.id], "{filter:?}");
    }
}

/// Agents out of reach are not listed, and take no place on a page.
pub async fn agents_out_of_reach_take_no_place_on_a_page(storage: &Store) {
    for number in 1..=6 {
        let agent = fixture::agent_able_to(number, &["time"]);
        setup::insert_agent(storage, agent).await;
    }
    let reach = AgentReach::only([1, 4, 6, 404].map(fixture::agent_id));
    let by_id = AgentFilter::Ids((1..=6).map(fixture::agent_id).collect());
    for filter in [AgentFilter::All, name_prefix(""), capability("time"), by_id] {
        let mut query = AgentQuery {
            filter: filter.clone(),
            reach: reach.clone(),
            after: None,
            limit: 2,
        };
        let tenant = fixture::tenant();
        let first = storage.agents.list(&tenant, &query).await.success().value;
        assert!(first.has_more, "{filter:?}");
        query.after = first.items.last().map(after_agent);
        let second = storage.agents.list(&tenant, &query).await.success().value;
        assert!(!second.has_more, "{filter:?}");
        assert_eq!(
            (first.items.len(), second.items.len()),
            (2, 1),
            "{filter:?}"
        );
        let mut listed = [ids_of_page(&first.items), ids_of_page(&second.items)].concat();
        listed.sort();
        assert_eq!(listed, [1, 4, 6].map(fixture::agent_id), "{filter:?}");
    }
}

/// A position comes from a client, so one that no name can have is valid like any other.
pub async fn a_listing_continues_after_a_position_with_nul(storage: &Store) {
    store_names(storage, &["ada", "ada b", "adam"]).await;
    for (prefix, expected) in [("ada", &["ada b", "adam"][..]), ("ada\0x", &[])] {
        let query = AgentQuery {
            filter: AgentFilter::NamePrefix(prefix.to_owned()),
            reach: AgentReach::ALL,
            after: Some(AgentPosition {
                sort_seq: Seq::default(),
                id: fixture::agent_id(9),
                name_key: "ada\0".to_owned(),
            }),
            limit: 10,
        };
        let page = storage.agents.list(&fixture::tenant(), &query).await;
        let page = page.success().value;
        let names: Vec<_> = page.items.iter().map(|listed| &*listed.item.name).collect();
        assert_eq!(names, expected);
    }
}
