//! `Maintenance::trim_log`: the log loses its beginning, and nothing else.

use domain::{EventType, Seq, TenantId};
use ports::{EventQuery, ExchangeTarget, LogBounds, Storage};
use tokio::task::JoinSet;

use crate::{
    answers::{Answer as _, OnceAnswer as _},
    given, log, samples,
};

/// One event in the log of `tenant` for each of these moments, in this order.
async fn logged_at(storage: &Storage, tenant: &TenantId, moments: &[i64]) {
    for (number, moment) in (1..).zip(moments) {
        let (agent, stamp) = (samples::agent(number), samples::stamp(*moment));
        let answer = storage.agents.insert(tenant, &agent, &stamp, None).await;
        answer.done();
    }
}

async fn trimmed(storage: &Storage, before: i64, limit: usize) -> u64 {
    let answer = storage.maintenance.trim_log(samples::at(before), limit);
    answer.await.answered()
}

/// The bounds of a log, as `bounds` tells them; a page tells the same.
async fn bounds(storage: &Storage, tenant: &TenantId) -> (i64, i64) {
    let LogBounds { first, head } = storage.events.bounds(tenant).await.answered();
    let page = storage.events.page(tenant, &log::query(Seq(0))).await;
    let page = page.answered();
    assert_eq!((page.first, page.head), (first, head));
    (first.0, head.0)
}

/// The positions that are shown after `since`.
async fn shown(storage: &Storage, since: i64) -> Vec<i64> {
    let page = log::page(storage, &log::query(Seq(since))).await;
    page.events
        .iter()
        .map(|logged| logged.event.seq.0)
        .collect()
}

/// Events that are older than the given moment go, and no others; those that stay keep their
/// places, and the heads stand where they were.
pub async fn removes_events_that_are_older(storage: &Storage) {
    let tenant = samples::tenant();
    logged_at(storage, &tenant, &[10, 20, 25, 30]).await;
    let heads = storage.events.heads().await.answered();
    assert_eq!(trimmed(storage, 25, 100).await, 2);
    assert_eq!(bounds(storage, &tenant).await, (3, 4));
    assert_eq!(shown(storage, 2).await, [3, 4]);
    assert_eq!(trimmed(storage, 25, 100).await, 0);
    assert_eq!(bounds(storage, &tenant).await, (3, 4));
    assert_eq!(storage.events.heads().await.answered(), heads);
}

/// Clocks differ: an old event behind a younger one stays as long as that does.
pub async fn removes_nothing_behind_a_younger_event(storage: &Storage) {
    let tenant = samples::tenant();
    logged_at(storage, &tenant, &[10, 30, 20, 40]).await;
    assert_eq!(trimmed(storage, 25, 100).await, 1);
    assert_eq!(bounds(storage, &tenant).await, (2, 4));
    assert_eq!(shown(storage, 1).await, [2, 3, 4]);
}

/// A log of which all is old is empty afterwards, and says so; it goes on with the next number.
pub async fn an_emptied_log_goes_on_numbering(storage: &Storage) {
    let (agent, talk) = given::chat(storage).await;
    assert_eq!(trimmed(storage, 1_000, 100).await, 2);
    let tenant = samples::tenant();
    assert_eq!(bounds(storage, &tenant).await, (3, 2));
    let page = log::page(storage, &log::query(Seq(2))).await;
    assert_eq!((page.events, page.next_since), (vec![], Seq(2)));
    let exchange = samples::exchange(1, &agent, samples::existing(&talk, 0));
    let committed = given::recorded(storage, exchange).await;
    assert_eq!((committed.first, committed.last), (Seq(3), Seq(4)));
    assert_eq!(bounds(storage, &tenant).await, (3, 4));
    assert_eq!(shown(storage, 2).await, [3, 4]);
}

/// A page from before the first event that is left has no events, whatever it filters by.
pub async fn a_page_from_before_the_first_event_has_none(storage: &Storage) {
    logged_at(storage, &samples::tenant(), &[10, 20, 30, 40]).await;
    trimmed(storage, 30, 100).await;
    for since in [0, 1] {
        let page = log::page(storage, &log::query(Seq(since))).await;
        assert_eq!((page.events, page.next_since), (vec![], Seq(since)));
        let query = EventQuery {
            types: vec![EventType::AgentCreated],
            agent_id: Some(samples::agent_id(4)),
            ..log::query(Seq(since))
        };
        let page = log::page(storage, &query).await;
        assert_eq!((page.events, page.next_since), (vec![], Seq(since)));
    }
    assert_eq!(shown(storage, 2).await, [3, 4]);
    assert_eq!(shown(storage, 3).await, [4]);
}

/// At most `limit` events go at a time; what is left is whole each time.
pub async fn removes_events_in_chunks(storage: &Storage) {
    let tenant = samples::tenant();
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

/// Every tenant's log loses its own beginning, within the one limit.
pub async fn trims_the_logs_of_all_tenants(storage: &Storage) {
    let ours = samples::tenant();
    let old = given::tenant_named(storage, "old").await;
    let young = given::tenant_named(storage, "young").await;
    let empty = given::tenant_named(storage, "empty").await;
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

/// Whoever reads while logs are trimmed sees every log whole from its first event on.
pub async fn readers_never_see_a_hole(storage: &Storage) {
    const EVENTS: i64 = 120;
    let tenant = samples::tenant();
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
        let places = page.events.iter().map(|logged| logged.event.seq.0);
        assert_eq!(places.collect::<Vec<_>>(), expected);
        first = page.first.0;
    }
    trimming.join_all().await;
    assert_eq!(bounds(storage, &tenant).await, (EVENTS, EVENTS));
}

/// Trimming beside chats and beside other processes that trim removes each event once, and none
/// that is written meanwhile.
pub async fn trims_beside_writers_and_other_trimmers(storage: &Storage) {
    let agent = given::agent(storage, 1).await;
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
        let target = ExchangeTarget::New(samples::conversation(number, agent.id));
        given::recorded(storage, samples::exchange(number, &agent, target)).await;
    }
    let removed: u64 = trimmers.join_all().await.into_iter().sum();
    let tenant = samples::tenant();
    let (first, head) = bounds(storage, &tenant).await;
    assert_eq!(head, 1 + 40 * 3);
    assert_eq!(first, 1 + i64::try_from(removed).expect("a small number"));
    assert_eq!(
        shown(storage, first - 1).await,
        (first..=head).collect::<Vec<_>>()
    );
}
