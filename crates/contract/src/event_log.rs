//! `EventLog`: positions, pages, heads and changes.

use domain::{EventType, Seq, event::event_id};
use ports::{EventQuery, LogBounds, LogHead, LoggedChange};
use writes::ConversationTarget;

use tokio::task::JoinSet;

use crate::{Store, fixture, log, pages::TOO_MANY_PAGES, results::ResultExt as _, setup};

async fn agents(storage: &Store, count: u32) {
    for number in 1..=count {
        setup::agent(storage, number).await;
    }
}

fn positions(page: &ports::EventPage) -> Vec<i64> {
    page.events
        .iter()
        .map(|logged| logged.event.seq.0)
        .collect()
}

/// Events are numbered 1, 2, 3 …, one per change, in the order of the changes.
pub async fn events_are_numbered_without_gaps(storage: &Store) {
    let (agent, conversation) = setup::chat(storage).await;
    let turn = fixture::completed_turn(1, &agent, fixture::existing(&conversation, 0));
    setup::record_turn(storage, turn).await;
    setup::update_agent(storage, &fixture::renamed(&agent, "Grace")).await;
    setup::update_conversation(storage, &fixture::retitled(&conversation, "Orders")).await;
    setup::delete_conversation(storage, &conversation).await;
    setup::delete_agent(storage, &agent).await;
    let page = log::page(storage, &log::query(Seq(0))).await;
    assert_eq!(positions(&page), (1..=8).collect::<Vec<_>>());
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

/// The id of an event is derived from its position.
pub async fn the_id_of_an_event_is_derived_from_its_position(storage: &Store) {
    agents(storage, 3).await;
    for event in log::events(storage).await {
        let expected = event_id(&fixture::tenant(), event.seq, event.time);
        assert_eq!(event.id, expected);
    }
}

/// An empty log has the first position 1 and the head 0.
pub async fn an_empty_log_has_bounds_too(storage: &Store) {
    let page = log::page(storage, &log::query(Seq(0))).await;
    assert!(page.events.is_empty());
    assert_eq!(
        (page.first, page.head, page.next_since),
        (Seq(1), Seq(0), Seq(0))
    );
}

/// A page has the events after `since`, at most `limit`; the next page starts where it ended.
pub async fn the_log_is_read_in_pages(storage: &Store) {
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
            shown.extend(positions(&page));
            since = page.next_since;
        }
        assert_eq!(shown, (1..=7).collect::<Vec<_>>(), "in pages of {limit}");
    }
}

/// A filtered page can be short. Its `next_since` is the scanned position, so that no event is lost
/// and none is scanned again and again.
pub async fn a_filtered_page_has_the_scanned_position(storage: &Store) {
    agents(storage, 2).await;
    setup::delete_agent(storage, &fixture::agent(1)).await;
    agents_from(storage, 3).await;
    setup::delete_agent(storage, &fixture::agent(2)).await;
    setup::agent(storage, 6).await;
    let mut query = EventQuery {
        types: vec![EventType::AgentDeleted],
        limit: 1,
        ..log::query(Seq(0))
    };
    let mut shown = Vec::new();
    for _ in 0..TOO_MANY_PAGES {
        let page = log::page(storage, &query).await;
        shown.extend(positions(&page));
        if page.next_since == page.head {
            assert_eq!(shown, [3, 7]);
            return;
        }
        assert!(page.next_since > query.since, "the scan stands still");
        query.since = page.next_since;
    }
    panic!("the log does not end");
}

async fn agents_from(storage: &Store, first: u32) {
    for number in first..first + 3 {
        setup::agent(storage, number).await;
    }
}

/// A page without matches has scanned the whole log.
pub async fn a_page_without_matches_reaches_the_head(storage: &Store) {
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

/// At and after the head a page is empty; its bounds distinguish the two cases.
pub async fn a_page_at_or_after_the_head_is_empty(storage: &Store) {
    agents(storage, 2).await;
    for since in [2, 3, 99] {
        let page = log::page(storage, &log::query(Seq(since))).await;
        assert!(page.events.is_empty(), "after {since}");
        assert_eq!((page.first, page.head), (Seq(1), Seq(2)));
    }
}

/// `bounds` are equal to those of a page.
pub async fn bounds_are_those_of_one_log(storage: &Store) {
    agents(storage, 2).await;
    let bounds = storage.events.bounds(&fixture::tenant()).await.success();
    assert_eq!(bounds, LogBounds::new(Seq(1), Seq(2)));
}

/// `heads` has all tenants, including those with empty logs.
pub async fn heads_are_those_of_all_logs(storage: &Store) {
    agents(storage, 2).await;
    let quiet = setup::tenant_named(storage, "quiet").await;
    let busy = setup::second_tenant(storage).await;
    setup::insert_agent_in(storage, &busy, fixture::agent(1)).await;
    let mut heads = storage.events.heads().await.success();
    heads.sort_by(|one, other| one.tenant.cmp(&other.tenant));
    let expected = [(busy, 1), (fixture::tenant(), 2), (quiet, 0)].map(|(tenant, head)| LogHead {
        tenant,
        head: Seq(head),
    });
    assert_eq!(heads, expected);
}

/// `changes` has the types, positions and ids by which caches discard entries.
pub async fn changes_have_the_type_and_ids_of_events(storage: &Store) {
    setup::node(storage, 1).await;
    let agent = setup::agent(storage, 1).await;
    let conversation = fixture::conversation(1, agent.id);
    let begin = fixture::begin_turn(1, &agent, ConversationTarget::New(conversation.clone()));
    setup::start_turn(storage, &begin).await;
    setup::delete_conversation(storage, &conversation).await;
    setup::delete_agent(storage, &agent).await;
    let of_agent = |seq, kind| LoggedChange {
        seq: Seq(seq),
        kind: Some(kind),
        agent_id: Some(agent.id),
        conversation_id: None,
        user_id: None,
        turn_id: None,
        is_move: false,
    };
    let of_talk = |seq, kind| LoggedChange {
        conversation_id: Some(conversation.id),
        ..of_agent(seq, kind)
    };
    let of_turn = |seq, kind| LoggedChange {
        turn_id: Some(begin.turn_id),
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
    let tenant = fixture::tenant();
    let changes = storage.events.changes(&tenant, Seq(0), 100).await;
    assert_eq!(changes.success(), expected);
    let changes = storage.events.changes(&tenant, Seq(2), 3).await;
    assert_eq!(changes.success(), expected[2..5]);
    let changes = storage.events.changes(&tenant, Seq(6), 3).await;
    assert!(changes.success().is_empty());
}

/// A page scans at most 10,000 events, so that no filter is expensive. Later events are found from
/// its `next_since`.
pub async fn a_page_scans_at_most_ten_thousand_events(storage: &Store) {
    let agent = setup::agent(storage, 1).await;
    let mut writers = JoinSet::new();
    for writer in 0..64 {
        let (storage, agent) = (storage.clone(), agent.clone());
        writers.spawn(async move {
            for round in 0..55 {
                let number = 64 * round + writer;
                let target = ConversationTarget::New(fixture::conversation(number, agent.id));
                setup::record_turn(&storage, fixture::completed_turn(number, &agent, target)).await;
            }
        });
    }
    writers.join_all().await;
    let deletion = setup::delete_agent(storage, &agent).await;
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
    assert_eq!(positions(&page), [deletion.last.0]);
    assert_eq!(page.next_since, page.head);
}
