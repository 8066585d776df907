//! Concurrent writes: the log stays without gaps and in commit order, and no write is lost.

use std::{collections::BTreeMap, time::Duration};

use domain::{Event, Seq, TenantId};
use ports::EventQuery;
use tokio::{task::JoinSet, time::sleep};
use writes::{Committed, ConversationTarget};

use crate::{Store, fixture, log, results::ResultExt as _, setup};

/// The number of writers, and of tenants.
pub(crate) const MANY: u32 = 64;

/// The number of rounds; each writer writes once per round.
const ROUNDS: u32 = 6;

/// The pause between two reads that find nothing new, so that polling readers do not starve the
/// writers of a busy machine.
const PAUSE: Duration = Duration::from_millis(1);

/// The results that one writer received, in order.
type WriterResults = Vec<(TenantId, domain::TurnId, Committed)>;

async fn many_tenants(storage: &Store) -> Vec<TenantId> {
    let mut tenants = Vec::new();
    for number in 0..MANY {
        let tenant = setup::tenant_named(storage, &format!("tenant-{number}")).await;
        setup::insert_agent_in(storage, &tenant, fixture::agent(1)).await;
        tenants.push(tenant);
    }
    tenants
}

/// Runs a writer that creates a conversation with a completed turn in each of `tenants`, one after
/// the other.
async fn write(storage: Store, writer: u32, tenants: Vec<TenantId>) -> WriterResults {
    let mut results = Vec::new();
    for (round, tenant) in (0..).zip(tenants) {
        let (number, agent) = (1 + writer * ROUNDS + round, fixture::agent(1));
        let target = ConversationTarget::New(fixture::conversation(number, agent.id));
        let mut turn = fixture::completed_turn(number, &agent, target);
        turn.begin.tenant = tenant.clone();
        let id = turn.begin.turn_id;
        results.push((tenant, id, setup::record_turn(&storage, turn).await));
    }
    results
}

async fn written_by_all(
    storage: &Store,
    tenants_of: impl Fn(u32) -> Vec<TenantId>,
) -> Vec<WriterResults> {
    let mut writers = JoinSet::new();
    for writer in 0..MANY {
        writers.spawn(write(storage.clone(), writer, tenants_of(writer)));
    }
    writers.join_all().await
}

async fn read_log(storage: &Store, tenant: &TenantId) -> Vec<Event> {
    let page = storage.event_page(tenant, &log::query(Seq(0))).await;
    let logged = page.success().events.into_iter();
    logged.map(|logged| logged.event).collect()
}

/// Asserts that every tenant's log is 1, 2, 3 … and contains each confirmed change exactly once, at
/// the confirmed position.
async fn assert_logs_have_no_gaps(storage: &Store, results: &[WriterResults]) {
    let mut changes: BTreeMap<&TenantId, Vec<(Committed, domain::TurnId)>> = BTreeMap::new();
    for (tenant, turn, committed) in results.iter().flatten() {
        changes.entry(tenant).or_default().push((*committed, *turn));
    }
    for (tenant, mut changes) in changes {
        changes.sort_by_key(|(committed, _)| committed.first);
        let events = read_log(storage, tenant).await;
        for (position, event) in (1..).zip(&events) {
            assert_eq!(event.seq, Seq(position), "in {tenant}");
        }
        // Event 1 belongs to the agent.
        let mut next = Seq(2);
        for (committed, turn) in changes {
            assert_eq!((committed.first, committed.last), (next, next.plus(2)));
            let ended = usize::try_from(committed.last.0 - 1).expect("a small log");
            assert_eq!(events[ended].turn_id, Some(turn));
            next = committed.last.plus(1);
        }
        assert_eq!(
            next,
            log::head(storage, tenant).await.plus(1),
            "in {tenant}"
        );
    }
}

/// Asserts that each writer's later changes of one log have later positions: commit order.
fn assert_commit_order(results: &[WriterResults]) {
    for results in results {
        let mut last: BTreeMap<&TenantId, Seq> = BTreeMap::new();
        for (tenant, _, committed) in results {
            let before = last.insert(tenant, committed.last);
            assert!(before < Some(committed.first), "in {tenant}");
        }
    }
}

/// 64 writers in 64 tenants, each in a different order: no gap, one event per change.
pub async fn many_writers_in_many_tenants_leave_no_gap(storage: &Store) {
    let tenants = many_tenants(storage).await;
    let results = written_by_all(storage, |writer| {
        let step = 2 * writer + 1;
        (0..ROUNDS)
            .map(|round| (writer + round * step) % MANY)
            .map(|position| tenants[position as usize].clone())
            .collect()
    })
    .await;
    assert_logs_have_no_gaps(storage, &results).await;
    assert_commit_order(&results);
}

/// 64 writers in one tenant: no gap, one event per change, in commit order.
pub async fn many_writers_in_one_tenant_leave_no_gap(storage: &Store) {
    setup::agent(storage, 1).await;
    let tenant = fixture::tenant();
    let results = written_by_all(storage, |_| vec![tenant.clone(); ROUNDS as usize]).await;
    assert_logs_have_no_gaps(storage, &results).await;
    assert_commit_order(&results);
}

/// Follows a log from its start to `head`, like a reader that runs during the writes.
async fn follow(storage: Store, tenant: TenantId, head: Seq) -> Vec<Seq> {
    let (mut since, mut seen) = (Seq(0), Vec::new());
    while since < head {
        let query = EventQuery {
            limit: 7,
            ..log::query(since)
        };
        let page = storage.event_page(&tenant, &query).await.success();
        seen.extend(page.events.iter().map(|logged| logged.event.seq));
        since = page.next_since;
        if page.events.is_empty() {
            sleep(PAUSE).await;
        }
    }
    seen
}

/// A reader that follows the log during writes sees every event once and in order: no event appears
/// behind a position that it has read.
pub async fn a_reader_misses_no_event_during_many_writes(storage: &Store) {
    setup::agent(storage, 1).await;
    let tenant = fixture::tenant();
    let head = Seq(1 + 3 * i64::from(MANY * ROUNDS));
    let mut followers = JoinSet::new();
    for _ in 0..3 {
        followers.spawn(follow(storage.clone(), tenant.clone(), head));
    }
    written_by_all(storage, |_| vec![tenant.clone(); ROUNDS as usize]).await;
    for seen in followers.join_all().await {
        let expected: Vec<_> = (1..=head.0).map(Seq).collect();
        assert_eq!(seen, expected);
    }
}

/// The position of a read is not later than the state that it returned: following the log from
/// there misses no version.
pub async fn the_position_of_a_read_is_never_later_than_its_state(storage: &Store) {
    let agent = setup::agent(storage, 1).await;
    let (reader, tenant, last) = (storage.clone(), fixture::tenant(), 60);
    let mut readers = JoinSet::new();
    readers.spawn(async move {
        let mut seen = Vec::new();
        loop {
            let found = reader
                .agents
                .find(&tenant, fixture::agent_id(1))
                .await
                .success();
            let version = found.value.expect("the agent exists").version;
            seen.push((version, found.position));
            if version == last {
                return seen;
            }
            sleep(PAUSE).await;
        }
    });
    let mut present = agent;
    while present.version < last {
        present = fixture::renamed(&present, "Grace");
        setup::update_agent(storage, &present).await;
    }
    // Version n was written by event n.
    for (version, position) in readers.join_all().await.concat() {
        assert!(
            position <= Seq(version),
            "version {version} at {position:?}"
        );
    }
}
