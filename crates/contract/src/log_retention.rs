//! `Maintenance::trim_log`: removes the start of a log, and nothing else.

use domain::{EventType, Seq, TenantId};
use ports::{EventQuery, LogBounds};
use tokio::task::JoinSet;
use writes::ConversationTarget;

use crate::{
    Store, fixture, log,
    results::{IdempotentExt as _, ResultExt as _},
    setup,
};

/// Writes one event to the log of `tenant` for each of these times, in this order.
async fn logged_at(storage: &Store, tenant: &TenantId, moments: &[i64]) {
    for (number, moment) in (1..).zip(moments) {
        let (agent, stamp) = (fixture::agent(number), fixture::stamp(*moment));
        let result = storage.agents.insert(tenant, &agent, &stamp, None).await;
        result.applied();
    }
}

async fn trimmed(storage: &Store, before: i64, limit: usize) -> u64 {
    let result = storage.maintenance.trim_log(fixture::at(before), limit);
    result.await.success()
}

/// Returns the bounds of a log, and asserts that a page has the same.
async fn bounds(storage: &Store, tenant: &TenantId) -> (i64, i64) {
    let LogBounds { first, head } = storage.events.bounds(tenant).await.success();
    let page = storage.event_page(tenant, &log::query(Seq(0))).await;
    let page = page.success();
    assert_eq!((page.first, page.head), (first, head));
    (first.0, head.0)
}

/// Returns the positions of the events after `since`.
async fn shown(storage: &Store, since: i64) -> Vec<i64> {
    let page = log::page(storage, &log::query(Seq(since))).await;
    page.events
        .iter()
        .map(|logged| logged.event.seq.0)
        .collect()
}

/// Only events older than the given time are removed; the others keep their positions, and the
/// heads do not change.
pub async fn only_older_events_are_removed(storage: &Store) {
    let tenant = fixture::tenant();
    logged_at(storage, &tenant, &[10, 20, 25, 30]).await;
    let heads = storage.events.heads().await.success();
    assert_eq!(trimmed(storage, 25, 100).await, 2);
    assert_eq!(bounds(storage, &tenant).await, (3, 4));
    assert_eq!(shown(storage, 2).await, [3, 4]);
    assert_eq!(trimmed(storage, 25, 100).await, 0);
    assert_eq!(bounds(storage, &tenant).await, (3, 4));
    assert_eq!(storage.events.heads().await.success(), heads);
}

/// Clocks differ: an old event behind a younger one stays as long as the younger one.
pub async fn old_events_behind_a_younger_one_are_kept(storage: &Store) {
    let tenant = fixture::tenant();
    logged_at(storage, &tenant, &[10, 30, 20, 40]).await;
    assert_eq!(trimmed(storage, 25, 100).await, 1);
    assert_eq!(bounds(storage, &tenant).await, (2, 4));
    assert_eq!(shown(storage, 1).await, [2, 3, 4]);
}

/// A log with only old events becomes empty, with empty bounds, and continues with the next number.
pub async fn an_emptied_log_continues_its_numbering(storage: &Store) {
    let (agent, conversation) = setup::chat(storage).await;
    assert_eq!(trimmed(storage, 1_000, 100).await, 2);
    let tenant = fixture::tenant();
    assert_eq!(bounds(storage, &tenant).await, (3, 2));
    let page = log::page(storage, &log::query(Seq(2))).await;
    assert_eq!((page.events, page.next_since), (vec![], Seq(2)));
    let turn = fixture::completed_turn(1, &agent, fixture::existing(&conversation, 0));
    let committed = setup::record_turn(storage, turn).await;
    assert_eq!((committed.first, committed.last), (Seq(3), Seq(4)));
    assert_eq!(bounds(storage, &tenant).await, (3, 4));
    assert_eq!(shown(storage, 2).await, [3, 4]);
}

/// A page from before the first event is empty, whatever its filters are.
pub async fn a_page_from_before_the_first_event_is_empty(storage: &Store) {
    logged_at(storage, &fixture::tenant(), &[10, 20, 30, 40]).await;
    trimmed(storage, 30, 100).await;
    for since in [0, 1] {
        let page = log::page(storage, &log::query(Seq(since))).await;
        assert_eq!((page.events, page.next_since), (vec![], Seq(since)));
        let query = EventQuery {
            types: vec![EventType::AgentCreated],
            agent_id: Some(fixture::agent_id(4)),
            ..log::query(Seq(since))
        };
        let page = log::page(storage, &query).await;
        assert_eq!((page.events, page.next_since), (vec![], Seq(since)));
    }
    assert_eq!(shown(storage, 2).await, [3, 4]);
    assert_eq!(shown(storage, 3).await, [4]);
}

/// At most `limit` events are removed at a time; the rest has no gap after each call.
pub async fn events_are_removed_in_chunks(storage: &Store) {
    let tenant = fixture::tenant();
    logged_at(storage, &tenant, &[1, 2, 3, 4, 5, 6, 7, 99]).await;
    for (removed, first) in [(3, 4), (3, 7), (1, 8), (0, 8)] {
        assert_eq!(trimmed(storage, 50, 3).await, removed);
        assert_eq!(bounds(storage, &tenant).await, (first, 8));
        assert_eq!(
            shown(storage, first - 1).await,
            (first..=8).collect::<Vec<_>>()
        );
    }
    assert_eq!(trimmed(storage, 1_000, 0).await, 0);
}

/// Every tenant's log is trimmed, within the one limit.
pub async fn the_logs_of_all_tenants_are_trimmed(storage: &Store) {
    let ours = fixture::tenant();
    let old = setup::tenant_named(storage, "old").await;
    let young = setup::tenant_named(storage, "young").await;
    let empty = setup::tenant_named(storage, "empty").await;
    logged_at(storage, &ours, &[10, 20, 90]).await;
    logged_at(storage, &old, &[5, 6, 7]).await;
    logged_at(storage, &young, &[80, 90]).await;
    let mut removed = Vec::new();
    for _ in 0..4 {
        removed.push(trimmed(storage, 50, 2).await);
    }
    assert_eq!(removed, [2, 2, 1, 0]);
    for (tenant, expected) in [
        (&ours, (3, 3)),
        (&old, (4, 3)),
        (&young, (1, 2)),
        (&empty, (1, 0)),
    ] {
        assert_eq!(bounds(storage, tenant).await, expected, "{tenant}");
    }
}

/// Readers during trimming see every log without gaps from its first event on.
pub async fn readers_never_see_a_gap(storage: &Store) {
    const EVENTS: i64 = 120;
    let tenant = fixture::tenant();
    let moments: Vec<_> = (1..=EVENTS).collect();
    logged_at(storage, &tenant, &moments).await;
    let mut trimming = JoinSet::new();
    let trimmer = storage.clone();
    trimming.spawn(async move { while trimmed(&trimmer, EVENTS, 1).await > 0 {} });
    let mut first = 1;
    while first < EVENTS {
        let page = log::page(storage, &log::query(Seq(first - 1))).await;
        assert!(page.first.0 >= first, "the log grew at its beginning");
        let expected: Vec<_> = if page.first.0 > first {
            Vec::new()
        } else {
            (first..=EVENTS).collect()
        };
        let positions = page.events.iter().map(|logged| logged.event.seq.0);
        assert_eq!(positions.collect::<Vec<_>>(), expected);
        first = page.first.0;
    }
    trimming.join_all().await;
    assert_eq!(bounds(storage, &tenant).await, (EVENTS, EVENTS));
}

/// During chats and concurrent trimming, each old event is removed once, and no new event is
/// removed.
pub async fn trimming_is_correct_during_writes_and_other_trimming(storage: &Store) {
    let agent = setup::agent(storage, 1).await;
    let mut trimmers = JoinSet::new();
    for _ in 0..4 {
        let storage = storage.clone();
        trimmers.spawn(async move {
            let mut removed = 0;
            for _ in 0..40 {
                removed += trimmed(&storage, 500, 3).await;
            }
            removed
        });
    }
    for number in 1..=40 {
        let target = ConversationTarget::New(fixture::conversation(number, agent.id));
        setup::record_turn(storage, fixture::completed_turn(number, &agent, target)).await;
    }
    let removed: u64 = trimmers.join_all().await.into_iter().sum();
    let tenant = fixture::tenant();
    let (first, head) = bounds(storage, &tenant).await;
    assert_eq!(head, 1 + 40 * 3);
    assert_eq!(first, 1 + i64::try_from(removed).expect("a small number"));
    assert_eq!(
        shown(storage, first - 1).await,
        (first..=head).collect::<Vec<_>>()
    );
}
