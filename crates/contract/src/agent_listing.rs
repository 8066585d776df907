//! `AgentRepository::list`: orders, filters, and pages that stay right under change.

use domain::{Agent, AgentId, Listed, Seq};
use ports::{AgentFilter, AgentPosition, AgentQuery, Storage};

use crate::{
    answers::Answer as _,
    given,
    pages::{agent_names, agents, agents_behind},
    samples,
};

async fn store_names(storage: &Storage, names: &[&str]) {
    for (number, name) in (1..).zip(names) {
        given::stored_agent(storage, samples::agent_named(number, name)).await;
    }
}

fn name_prefix(prefix: &str) -> AgentFilter {
    AgentFilter::NamePrefix(prefix.to_owned())
}

fn ids(agents: &[Agent]) -> Vec<AgentId> {
    agents.iter().map(|agent| agent.id).collect()
}

fn ids_of_page(agents: &[Listed<Agent>]) -> Vec<AgentId> {
    agents.iter().map(|listed| listed.item.id).collect()
}

/// `All` is newest first, in the order in which they were made, whatever ids and clocks say.
pub async fn lists_agents_newest_first(storage: &Storage) {
    for number in [2, 5, 1, 4, 3] {
        given::agent(storage, number).await;
    }
    let all = agents_behind(storage, &AgentFilter::All, None, 2).await;
    assert_eq!(ids(&all), [3, 4, 1, 5, 2].map(samples::agent_id));
    assert_eq!(all[0], samples::agent(3));
    let able = agents_behind(storage, &capability("time"), None, 2).await;
    assert_eq!(able, all);
}

/// `has_more` is exact, also when the last page is full.
pub async fn tells_whether_more_agents_follow(storage: &Storage) {
    assert_eq!(
        agents(storage, &AgentFilter::All, None, 3).await,
        (vec![], false)
    );
    for number in 1..=4 {
        given::agent(storage, number).await;
    }
    let (page, has_more) = agents(storage, &AgentFilter::All, None, 3).await;
    assert_eq!((page.len(), has_more), (3, true));
    let (page, has_more) = agents(storage, &AgentFilter::All, None, 4).await;
    assert_eq!((page.len(), has_more), (4, false));
}

/// An agent that is there during the whole listing MUST be shown exactly once over all pages.
pub async fn shows_every_agent_once_while_others_come_and_go(storage: &Storage) {
    for filter in [AgentFilter::All, name_prefix("agent")] {
        let base = if filter == AgentFilter::All { 0 } else { 100 };
        for number in 1..=9 {
            given::agent(storage, base + 10 * number).await;
        }
        let (first, _) = agents(storage, &filter, None, 3).await;
        given::agent(storage, base + 15).await;
        given::agent(storage, base + 99).await;
        let doomed = samples::agent(base + 30);
        given::agent_deleted(storage, &doomed).await;
        let rest = agents_behind(storage, &filter, first.last().cloned(), 3).await;
        let shown = [ids_of_page(&first), ids(&rest)].concat();
        for number in (1..=9).filter(|number| *number != 3) {
            let id = samples::agent_id(base + 10 * number);
            let times = shown.iter().filter(|shown| **shown == id).count();
            assert_eq!(times, 1, "agent {number} of {filter:?}");
        }
    }
}

/// A cursor needs no living agent.
pub async fn goes_on_after_an_agent_that_was_deleted_meanwhile(storage: &Storage) {
    for number in 1..=4 {
        given::agent(storage, number).await;
    }
    for (filter, last, expected) in [
        (name_prefix("agent"), 2, vec![3, 4]),
        (AgentFilter::All, 3, vec![1]),
    ] {
        let (page, _) = agents(storage, &filter, None, 2).await;
        assert_eq!(page[1].item.id, samples::agent_id(last));
        given::agent_deleted(storage, &page[1].item).await;
        let rest = agents_behind(storage, &filter, Some(page[1].clone()), 2).await;
        let expected: Vec<_> = expected.into_iter().map(samples::agent_id).collect();
        assert_eq!(ids(&rest), expected, "{filter:?}");
    }
}

/// `NamePrefix` is without regard to case, on both sides.
pub async fn finds_names_by_prefix_in_any_case(storage: &Storage) {
    store_names(storage, &["Ada", "ADAM", "adele", "Bert", "xada"]).await;
    for prefix in ["ada", "ADA", "aDa"] {
        let names = agent_names(storage, &name_prefix(prefix), 10).await;
        assert_eq!(names, ["Ada", "ADAM"], "{prefix}");
    }
    let names = agent_names(storage, &name_prefix("adam and more"), 10).await;
    assert!(names.is_empty());
}

/// Case is told as Unicode tells it.
pub async fn finds_names_by_prefix_in_any_script(storage: &Storage) {
    let names = [
        "Émile",
        "ärzte",
        "ЖУК",
        "東京",
        "🦊 Fox",
        "e\u{301}mile",
        "ΟΔΟΣΑ",
        "שלום",
    ];
    store_names(storage, &names).await;
    for (prefix, expected) in [
        ("é", "Émile"),
        ("ÄR", "ärzte"),
        ("жу", "ЖУК"),
        ("東", "東京"),
        ("🦊 f", "🦊 Fox"),
        ("E\u{301}", "e\u{301}mile"),
        ("οδοσ", "ΟΔΟΣΑ"),
        ("ΟΔΟΣ", "ΟΔΟΣΑ"),
        ("של", "שלום"),
    ] {
        let found = agent_names(storage, &name_prefix(prefix), 10).await;
        assert_eq!(found, [expected], "{prefix}");
    }
}

/// A prefix is text, not a pattern.
pub async fn takes_wildcards_in_a_prefix_literally(storage: &Storage) {
    store_names(
        storage,
        &[
            "100% sure",
            "100 sure",
            "a_b",
            "axb",
            "c\\d",
            "cd",
            "e*",
            "ef",
        ],
    )
    .await;
    for (prefix, expected) in [
        ("100%", "100% sure"),
        ("a_", "a_b"),
        ("c\\", "c\\d"),
        ("e*", "e*"),
    ] {
        let found = agent_names(storage, &name_prefix(prefix), 10).await;
        assert_eq!(found, [expected], "{prefix}");
    }
    assert!(agent_names(storage, &name_prefix("%"), 10).await.is_empty());
    assert!(agent_names(storage, &name_prefix("'"), 10).await.is_empty());
}

/// The order is that of code points: no language's, and not that of UTF-16.
pub async fn sorts_names_by_code_point_then_by_id(storage: &Storage) {
    let names = [
        "🦊",
        "\u{fb01}sh",
        "é",
        "zoe",
        "Zoe",
        "a-c",
        "a b",
        "ab",
        "a_b",
        "A",
    ];
    store_names(storage, &names).await;
    let sorted = [
        "A",
        "a b",
        "a-c",
        "a_b",
        "ab",
        "zoe",
        "Zoe",
        "é",
        "\u{fb01}sh",
        "🦊",
    ];
    assert_eq!(agent_names(storage, &name_prefix(""), 3).await, sorted);
}

/// Names need not be unique; ids tell the agents of one name apart.
pub async fn pages_through_equal_names_without_loss(storage: &Storage) {
    for number in [3, 1, 5, 2, 4] {
        let name = if number % 2 == 0 { "ADA" } else { "ada" };
        given::stored_agent(storage, samples::agent_named(number, name)).await;
    }
    let all = agents_behind(storage, &name_prefix("Ada"), None, 2).await;
    assert_eq!(ids(&all), [1, 2, 3, 4, 5].map(samples::agent_id));
}

/// No character is too great, and none stands before the gap of the surrogates in vain.
pub async fn finds_prefixes_that_end_at_the_edges_of_unicode(storage: &Storage) {
    let names = ["\u{10ffff}x", "\u{d7ff}x", "\u{e000}x", "a\u{10ffff}x", "b"];
    store_names(storage, &names).await;
    for (prefix, expected) in [
        ("\u{10ffff}", "\u{10ffff}x"),
        ("\u{d7ff}", "\u{d7ff}x"),
        ("a\u{10ffff}", "a\u{10ffff}x"),
    ] {
        let found = agent_names(storage, &name_prefix(prefix), 10).await;
        assert_eq!(found, [expected], "{prefix:?}");
    }
}

fn capability(name: &str) -> AgentFilter {
    AgentFilter::Capability(name.to_owned())
}

/// `Capability` is exact: neither a part of a name nor another case.
pub async fn lists_agents_by_exact_capability(storage: &Storage) {
    for (number, capabilities) in [
        (1, ["time", "orders"]),
        (2, ["Time", "timer"]),
        (3, ["время 🕰", "time"]),
        (4, ["ti", "t%me"]),
    ] {
        let agent = samples::agent_able_to(number, &capabilities);
        given::stored_agent(storage, agent).await;
    }
    for (name, expected) in [
        ("time", vec![3, 1]),
        ("Time", vec![2]),
        ("время 🕰", vec![3]),
        ("t%me", vec![4]),
        ("none", vec![]),
    ] {
        let found = agents_behind(storage, &capability(name), None, 1).await;
        let expected: Vec<_> = expected.into_iter().map(samples::agent_id).collect();
        assert_eq!(ids(&found), expected, "{name}");
    }
}

/// An update brings and takes capabilities.
pub async fn follows_capabilities_through_updates(storage: &Storage) {
    let agent = samples::agent_able_to(1, &["orders", "time"]);
    let agent = given::stored_agent(storage, agent).await;
    let next = Agent {
        capabilities: vec!["time".to_owned(), "returns".to_owned()],
        ..samples::renamed(&agent, "Grace")
    };
    given::agent_updated(storage, &next).await;
    for (name, expected) in [
        ("orders", vec![]),
        ("time", vec![next.clone()]),
        ("returns", vec![next]),
    ] {
        let found = agents_behind(storage, &capability(name), None, 10).await;
        assert_eq!(found, expected, "{name}");
    }
}

/// A cursor needs no agent that still passes the filter.
pub async fn pages_through_a_capability_that_agents_lose_meanwhile(storage: &Storage) {
    for number in 1..=5 {
        given::agent(storage, number).await;
    }
    let (page, _) = agents(storage, &capability("time"), None, 2).await;
    let last = page[1].clone();
    let next = Agent {
        capabilities: Vec::new(),
        ..samples::renamed(&last.item, "Grace")
    };
    given::agent_updated(storage, &next).await;
    let rest = agents_behind(storage, &capability("time"), Some(last), 2).await;
    assert_eq!(ids(&rest), [3, 2, 1].map(samples::agent_id));
}

/// What is deleted is in no listing.
pub async fn lists_no_deleted_agent(storage: &Storage) {
    let (kept, doomed) = (
        given::agent(storage, 1).await,
        given::agent(storage, 2).await,
    );
    given::agent_deleted(storage, &doomed).await;
    for filter in [AgentFilter::All, name_prefix(""), capability("time")] {
        let found = agents_behind(storage, &filter, None, 10).await;
        assert_eq!(ids(&found), [kept.id], "{filter:?}");
    }
}

/// A cursor comes from outside: a position that no name can have is one like any other.
pub async fn goes_on_after_a_position_that_holds_a_nul(storage: &Storage) {
    store_names(storage, &["ada", "ada b", "adam"]).await;
    for (prefix, expected) in [("ada", &["ada b", "adam"][..]), ("ada\0x", &[])] {
        let query = AgentQuery {
            filter: AgentFilter::NamePrefix(prefix.to_owned()),
            after: Some(AgentPosition {
                sort_seq: Seq::default(),
                id: samples::agent_id(9),
                name_key: "ada\0".to_owned(),
            }),
            limit: 10,
        };
        let page = storage.agents.list(&samples::tenant(), &query).await;
        let page = page.answered().value;
        let names: Vec<_> = page.items.iter().map(|listed| &*listed.item.name).collect();
        assert_eq!(names, expected);
    }
}
