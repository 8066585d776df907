//! `EventLog`: positions, pages, heads and changes.

use domain::{EventType, Seq, event::event_id};
use ports::{EventQuery, ExchangeTarget, LogBounds, LogHead, LoggedChange, Storage};

use tokio::task::JoinSet;

use crate::{answers::Answer as _, given, log, pages::TOO_MANY_PAGES, samples};

async fn agents(storage: &Storage, count: u32) {
    for number in 1..=count {
        given::agent(storage, number).await;
    }
}

fn places(page: &ports::EventPage) -> Vec<i64> {
    page.events
        .iter()
        .map(|logged| logged.event.seq.0)
        .collect()
}

/// 1, 2, 3 …, one event for each change, in the order of the changes.
pub async fn numbers_events_without_a_gap(storage: &Storage) {
    let (agent, talk) = given::chat(storage).await;
    let exchange = samples::exchange(1, &agent, samples::existing(&talk, 0));
    given::recorded(storage, exchange).await;
    given::agent_updated(storage, &samples::renamed(&agent, "Grace")).await;
    given::conversation_updated(storage, &samples::retitled(&talk, "Orders")).await;
    given::conversation_deleted(storage, &talk).await;
    given::agent_deleted(storage, &agent).await;
    let page = log::page(storage, &log::query(Seq(0))).await;
    assert_eq!(places(&page), (1..=8).collect::<Vec<_>>());
    let types: Vec<_> = page.events.iter().map(|logged| logged.event.kind).collect();
    let expected = [
        EventType::AgentCreated,
        EventType::ConversationCreated,
        EventType::TurnStarted,
        EventType::TurnCompleted,
        EventType::AgentUpdated,
        EventType::ConversationUpdated,
        EventType::ConversationDeleted,
        EventType::AgentDeleted,
    ];
    assert_eq!(types, expected);
    assert_eq!(
        (page.first, page.head, page.next_since),
        (Seq(1), Seq(8), Seq(8))
    );
}

/// The id of an event follows from its place.
pub async fn events_have_the_id_of_their_place(storage: &Storage) {
    agents(storage, 3).await;
    for event in log::events(storage).await {
        let expected = event_id(&samples::tenant(), event.seq, event.time);
        assert_eq!(event.id, expected);
    }
}

/// An empty log begins at 1 and stands at 0.
pub async fn an_empty_log_has_bounds_too(storage: &Storage) {
    let page = log::page(storage, &log::query(Seq(0))).await;
    assert!(page.events.is_empty());
    assert_eq!(
        (page.first, page.head, page.next_since),
        (Seq(1), Seq(0), Seq(0))
    );
}

/// Events after `since`, at most `limit`; the next page begins where this one ended.
pub async fn pages_through_the_log(storage: &Storage) {
    agents(storage, 7).await;
    for limit in [1, 3, 7, 100] {
        let mut since = Seq(0);
        let mut shown = Vec::new();
        while since < Seq(7) {
            let query = EventQuery {
                limit,
                ..log::query(since)
            };
            let page = log::page(storage, &query).await;
            assert!(page.events.len() <= limit);
            assert!(page.next_since > since, "nothing follows {since:?}");
            shown.extend(places(&page));
            since = page.next_since;
        }
        assert_eq!(shown, (1..=7).collect::<Vec<_>>(), "in pages of {limit}");
    }
}

/// A page that filters may be short; its `next_since` tells how far it looked, so that nothing
/// is lost and nothing looked at twice for ever.
pub async fn a_filtered_page_tells_how_far_it_looked(storage: &Storage) {
    agents(storage, 2).await;
    given::agent_deleted(storage, &samples::agent(1)).await;
    agents_from(storage, 3).await;
    given::agent_deleted(storage, &samples::agent(2)).await;
    given::agent(storage, 6).await;
    let mut query = EventQuery {
        types: vec![EventType::AgentDeleted],
        limit: 1,
        ..log::query(Seq(0))
    };
    let mut shown = Vec::new();
    for _ in 0..TOO_MANY_PAGES {
        let page = log::page(storage, &query).await;
        shown.extend(places(&page));
        if page.next_since == page.head {
            assert_eq!(shown, [3, 7]);
            return;
        }
        assert!(page.next_since > query.since, "the scan stands still");
        query.since = page.next_since;
    }
    panic!("the log does not end");
}

async fn agents_from(storage: &Storage, first: u32) {
    for number in first..first + 3 {
        given::agent(storage, number).await;
    }
}

/// Where nothing matches, the whole log was looked at.
pub async fn a_page_without_matches_reaches_the_head(storage: &Storage) {
    agents(storage, 3).await;
    let query = EventQuery {
        types: vec![EventType::TurnFailed],
        limit: 1,
        ..log::query(Seq(1))
    };
    let page = log::page(storage, &query).await;
    assert!(page.events.is_empty());
    assert_eq!((page.next_since, page.head), (Seq(3), Seq(3)));
}

/// At the head, and after it, there are no events; the bounds tell which it is.
pub async fn shows_nothing_at_or_after_the_head(storage: &Storage) {
    agents(storage, 2).await;
    for since in [2, 3, 99] {
        let page = log::page(storage, &log::query(Seq(since))).await;
        assert!(page.events.is_empty(), "after {since}");
        assert_eq!((page.first, page.head), (Seq(1), Seq(2)));
    }
}

/// `bounds` are those of the page.
pub async fn tells_the_bounds_of_one_log(storage: &Storage) {
    agents(storage, 2).await;
    let bounds = storage.events.bounds(&samples::tenant()).await.answered();
    assert_eq!(bounds, LogBounds::new(Seq(1), Seq(2)));
}

/// `heads` are those of all tenants, empty logs included.
pub async fn tells_the_heads_of_all_logs(storage: &Storage) {
    agents(storage, 2).await;
    let quiet = given::tenant_named(storage, "quiet").await;
    let busy = given::another_tenant(storage).await;
    given::stored_agent_of(storage, &busy, samples::agent(1)).await;
    let mut heads = storage.events.heads().await.answered();
    heads.sort_by(|one, other| one.tenant.cmp(&other.tenant));
    let expected = [(busy, 1), (samples::tenant(), 2), (quiet, 0)].map(|(tenant, head)| LogHead {
        tenant,
        head: Seq(head),
    });
    assert_eq!(heads, expected);
}

/// `changes` tell what caches are dropped by: type, place and ids.
pub async fn tells_what_changed_and_where(storage: &Storage) {
    given::node(storage, 1).await;
    let agent = given::agent(storage, 1).await;
    let talk = samples::conversation(1, agent.id);
    let question = samples::question(1, &agent, ExchangeTarget::New(talk.clone()));
    given::started(storage, &question).await;
    given::conversation_deleted(storage, &talk).await;
    given::agent_deleted(storage, &agent).await;
    let of_agent = |seq, kind| LoggedChange {
        seq: Seq(seq),
        kind: Some(kind),
        agent_id: Some(agent.id),
        conversation_id: None,
        turn_id: None,
    };
    let of_talk = |seq, kind| LoggedChange {
        conversation_id: Some(talk.id),
        ..of_agent(seq, kind)
    };
    let of_turn = |seq, kind| LoggedChange {
        turn_id: Some(question.turn_id),
        ..of_talk(seq, kind)
    };
    let expected = [
        of_agent(1, EventType::AgentCreated),
        of_talk(2, EventType::ConversationCreated),
        of_turn(3, EventType::TurnStarted),
        of_turn(4, EventType::TurnCancelled),
        of_talk(5, EventType::ConversationDeleted),
        of_agent(6, EventType::AgentDeleted),
    ];
    let tenant = samples::tenant();
    let changes = storage.events.changes(&tenant, Seq(0), 100).await;
    assert_eq!(changes.answered(), expected);
    let changes = storage.events.changes(&tenant, Seq(2), 3).await;
    assert_eq!(changes.answered(), expected[2..5]);
    let changes = storage.events.changes(&tenant, Seq(6), 3).await;
    assert!(changes.answered().is_empty());
}

/// A page scans at most 10,000 events, so that no filter is expensive; what is behind them is
/// found from its `next_since` on.
pub async fn a_page_looks_at_ten_thousand_events_at_most(storage: &Storage) {
    let agent = given::agent(storage, 1).await;
    let mut writers = JoinSet::new();
    for writer in 0..64 {
        let (storage, agent) = (storage.clone(), agent.clone());
        writers.spawn(async move {
            for round in 0..55 {
                let number = 64 * round + writer;
                let target = ExchangeTarget::New(samples::conversation(number, agent.id));
                given::recorded(&storage, samples::exchange(number, &agent, target)).await;
            }
        });
    }
    writers.join_all().await;
    let deletion = given::agent_deleted(storage, &agent).await;
    let mut query = EventQuery {
        types: vec![EventType::AgentDeleted],
        limit: 100,
        ..log::query(Seq(0))
    };
    let page = log::page(storage, &query).await;
    assert_eq!((page.events, page.head), (vec![], deletion.last));
    assert!(
        (1..=10_000).contains(&page.next_since.0),
        "{:?}",
        page.next_since
    );
    query.since = page.next_since;
    let page = log::page(storage, &query).await;
    assert_eq!(places(&page), [deletion.last.0]);
    assert_eq!(page.next_since, page.head);
}
