//! Followers of the log on three nodes that are killed: every effect happens once, and in order.

use std::{
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use api::wiring::system;
use application::{
    followers::{FollowerRunner, FollowerWork},
    node::Node,
    realtime::{LogReader, LogTails},
};
use async_trait::async_trait;
use contract::{Store, fixture};
use domain::{ConversationId, NodeId, Seq, TenantId, search::SearchPhrases, search::SearchScope};
use ports::{
    FollowerPosition, FollowerStep, IdSource, LogHead, LoggedEvent, RepositoryError, SearchEntry,
    SearchIndex, SearchQuery, Storage,
};
use postgres_store::{PostgresOptions, PostgresStore};
use single_node::LocalBus;
use sqlite_store::{SqliteOptions, SqliteStore};
use tempfile::TempDir;
use tokio::{runtime::Handle, sync::watch, task::JoinHandle, time::sleep};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use uuid::Uuid;

use crate::postgres::Database;

/// The number of events in each log; more with the variable `FOLLOWED_EVENTS`.
const EVENTS: i64 = 2_000;
/// The number of steps of the backfill in each log.
const BACKFILL: u128 = 20;
/// The word of every effect.
const WORD: &str = "effect";

/// Work whose effect is a row for each event, written with the position.
struct Rows {
    index: Arc<dyn SearchIndex>,
    ids: Arc<dyn IdSource>,
    /// The steps that were taken and those whose outcome a kill has hidden.
    steps: Mutex<Vec<(FollowerStep, Option<bool>)>>,
}

impl Rows {
    async fn take(
        &self,
        step: &FollowerStep,
        entries: &[SearchEntry],
    ) -> Result<bool, RepositoryError> {
        let place = {
            let mut steps = self.steps.lock().expect("no panic inside");
            steps.push((step.clone(), None));
            steps.len() - 1
        };
        let is_taken = self.index.apply(step, &[], entries).await?;
        let mut steps = self.steps.lock().expect("no panic inside");
        steps[place].1 = Some(is_taken);
        Ok(is_taken)
    }
}

#[async_trait]
impl FollowerWork for Rows {
    fn name(&self) -> &'static str {
        "search"
    }

    async fn positions(&self) -> Result<Vec<(TenantId, FollowerPosition)>, RepositoryError> {
        self.index.positions().await
    }

    /// Begins before the first event, whatever the head is, with a backfill.
    async fn begin(
        &self,
        tenant: &TenantId,
        from: Option<FollowerPosition>,
        _head: Seq,
    ) -> Result<Option<FollowerPosition>, RepositoryError> {
        assert_eq!(from, None, "the log reaches every position");
        let to = FollowerPosition {
            seq: Seq(0),
            backfilled_to: Some(ConversationId::new(Uuid::nil())),
        };
        let tenant = tenant.clone();
        let step = FollowerStep { tenant, from, to };
        Ok(self.take(&step, &[]).await?.then_some(to))
    }

    async fn apply(
        &self,
        step: &FollowerStep,
        events: &[LoggedEvent],
    ) -> Result<bool, RepositoryError> {
        let entry = |event: &LoggedEvent| SearchEntry {
            // A row of its own for each event in each step, so that a second one would be seen.
            conversation_id: ConversationId::new(self.ids.next_id()),
            message_seq: 1,
            order: order(&step.tenant, event.event.seq.0),
            scopes: vec![SearchScope::tenant(&step.tenant)],
            words: WORD.to_owned(),
        };
        let entries: Vec<_> = events.iter().map(entry).collect();
        self.take(step, &entries).await
    }

    async fn backfill(
        &self,
        tenant: &TenantId,
        from: FollowerPosition,
    ) -> Result<Option<FollowerPosition>, RepositoryError> {
        let steps = from.backfilled_to.expect("a backfill").uuid().as_u128();
        let next = (steps < BACKFILL).then(|| ConversationId::new(Uuid::from_u128(steps + 1)));
        let to = FollowerPosition {
            backfilled_to: next,
            ..from
        };
        let step = FollowerStep {
            tenant: tenant.clone(),
            from: Some(from),
            to,
        };
        Ok(self.take(&step, &[]).await?.then_some(to))
    }
}

/// The parts that the runners of all nodes share.
struct Nodes {
    storage: Storage,
    work: Arc<Rows>,
    log: Arc<LogReader>,
    heads: watch::Receiver<Arc<[LogHead]>>,
}

impl Nodes {
    /// Starts a node with a runner.
    async fn start(&self) -> (NodeId, JoinHandle<()>) {
        let (_, ids) = system();
        let bus = Arc::new(LocalBus::default());
        let nodes = Arc::clone(&self.storage.nodes);
        let node = Node::register(nodes, ids, bus, "1.0.0").await;
        let node = Arc::new(node.expect("the store answers"));
        let id = node.id();
        let runner = FollowerRunner::new(
            Arc::clone(&self.work) as Arc<dyn FollowerWork>,
            Arc::clone(&self.storage.followers),
            Arc::clone(&self.log),
            node,
            self.heads.clone(),
        );
        let running = TaskTracker::new().spawn(runner.run(CancellationToken::new()));
        (id, running)
    }

    /// Returns whether all events of both tenants have their effects, and the backfills have ended.
    async fn are_done(&self) -> bool {
        for tenant in tenants() {
            let position = self.work.index.position(&tenant).await;
            let position = position.expect("the store answers");
            let is_at_end =
                |it: &FollowerPosition| it.seq == Seq(events()) && it.backfilled_to.is_none();
            if !position.as_ref().is_some_and(is_at_end) {
                return false;
            }
        }
        true
    }
}

/// The tenants in whose logs the follower is.
fn tenants() -> [TenantId; 2] {
    [fixture::tenant(), fixture::tenant_named("second")]
}

fn events() -> i64 {
    #[expect(clippy::disallowed_methods, reason = "a longer run by hand")]
    let more = std::env::var("FOLLOWED_EVENTS").ok();
    more.map_or(EVENTS, |more| more.parse().expect("a number"))
}

/// Writes the events of both tenants.
async fn write_events(store: Store) {
    let second = fixture::tenant_named("second");
    let inserted = store.tenants.insert(&second, fixture::at(0)).await;
    inserted.expect("the store answers");
    let write = async |number: u32| {
        let agent = fixture::agent(number);
        let [first, second] = tenants();
        let tenant = if number.is_multiple_of(2) {
            first
        } else {
            second
        };
        let stamp = fixture::stamp(1);
        // A busy store may answer too late.
        while let Err(error) = store.agents.insert(&tenant, &agent, &stamp, None).await {
            if !error.is_retryable() {
                assert!(matches!(error, RepositoryError::Conflict { .. }), "{error}");
                break;
            }
        }
    };
    let numbers = futures::stream::iter(0..2 * u32::try_from(events()).expect("a number"));
    futures::StreamExt::for_each_concurrent(numbers, 64, write).await;
}

/// Writes events while three nodes run the follower, and kills the nodes again and again.
async fn every_effect_happens_once_and_in_order(storage: Storage) {
    let (tasks, stop) = (TaskTracker::new(), CancellationToken::new());
    let log = Arc::clone(&storage.events);
    let tails = LogTails::new(Arc::clone(&log), tasks, Handle::current(), stop.clone());
    let tails = Arc::new(tails);
    let reported = Arc::clone(&tails);
    let heads = watch::Sender::new(Arc::default());
    let nodes = Nodes {
        work: Arc::new(Rows {
            index: Arc::clone(&storage.search),
            ids: system().1,
            steps: Mutex::default(),
        }),
        log: Arc::new(LogReader::new(tails, Arc::clone(&log))),
        heads: heads.subscribe(),
        storage: storage.clone(),
    };
    let reading = TaskTracker::new().spawn(async move {
        loop {
            if let Ok(read) = log.heads().await {
                // As the process does that keeps the tails.
                for head in &read {
                    reported.report_head(&head.tenant, head.head);
                }
                heads.send_replace(read.into());
            }
            sleep(Duration::from_millis(20)).await;
        }
    });
    let writing = TaskTracker::new().spawn(write_events(Store::new(storage.clone())));

    let mut running = Vec::new();
    for _ in 0..3 {
        running.push(nodes.start().await);
    }
    let (started, mut kills) = (Instant::now(), 0);
    while !nodes.are_done().await {
        // Steps of different lengths, so that kills fall at different places.
        sleep(Duration::from_millis(40 + 13 * (kills % 11))).await;
        let (id, runner) = running.remove(0);
        runner.abort();
        // Its lease ends, as after ten seconds.
        let ended = nodes.storage.nodes.renew(id, Duration::ZERO).await;
        ended.expect("the store answers");
        kills += 1;
        running.push(nodes.start().await);
        let is_in_time = started.elapsed() < Duration::from_secs(90);
        assert!(
            is_in_time,
            "the follower is at {:?}",
            nodes.work.positions().await
        );
    }
    writing.await.expect("no panic");
    for (_, runner) in running {
        runner.abort();
    }
    reading.abort();
    assert!(kills >= 3, "{kills} kills");
    check_rows(&nodes).await;
    check_steps(&nodes.work);
}

/// The order of the row of an event, different in each log.
fn order(tenant: &TenantId, seq: i64) -> i64 {
    2 * seq + i64::from(*tenant == fixture::tenant())
}

/// Every event has one row.
async fn check_rows(nodes: &Nodes) {
    for tenant in tenants() {
        let query = SearchQuery {
            scopes: vec![vec![SearchScope::tenant(&tenant)]],
            phrases: SearchPhrases::parse(WORD),
            after: None,
            limit: 10_000_000,
        };
        let found = nodes.work.index.find(&tenant, &query).await;
        let found = found.expect("the store answers").into_iter();
        let mut orders: Vec<_> = found.map(|it| it.position.order).collect();
        orders.reverse();
        let expected = (1..=events()).map(|seq| order(&tenant, seq));
        assert!(orders.into_iter().eq(expected), "{tenant}");
    }
}

/// No step was taken that begins before the end of one taken earlier in the same log.
fn check_steps(work: &Rows) {
    for tenant in tenants() {
        let mut at = Seq(0);
        let steps = work.steps.lock().expect("no panic inside");
        let of_tenant = steps.iter().filter(|(step, _)| step.tenant == tenant);
        for (step, _) in of_tenant.filter(|(_, is_taken)| *is_taken == Some(true)) {
            let from = step.from.map_or(Seq(0), |from| from.seq);
            assert!(from >= at, "{step:?} after {at:?}");
            at = step.to.seq;
        }
        assert!(at <= Seq(events()));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_effect_happens_once_and_in_order_on_sqlite() {
    let folder = TempDir::new().unwrap();
    let url = format!("sqlite://{}/test.db", folder.path().display());
    let options = SqliteOptions::default();
    let store = SqliteStore::open(&url, options, &TaskTracker::new())
        .await
        .unwrap();
    store.migrate().await.unwrap();
    every_effect_happens_once_and_in_order(store.storage()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_effect_happens_once_and_in_order_on_postgres() {
    let database = Database::make().await;
    let options = PostgresOptions::default();
    let tasks = TaskTracker::new();
    let store = PostgresStore::connect(&database.url(), options, &tasks)
        .await
        .unwrap();
    store.migrate().await.unwrap();
    every_effect_happens_once_and_in_order(store.storage()).await;
    store.close().await;
}
