use std::{
    collections::VecDeque,
    sync::{
        Mutex as StdMutex,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use async_trait::async_trait;
use domain::Timestamp;
use single_node::LocalBus;
use tokio_util::task::TaskTracker;
use uuid::Uuid;

use super::*;

fn live(count: u32) -> LiveNodes {
    LiveNodes {
        count,
        lowest_level: LEVEL,
    }
}

/// The result of a renewal.
#[derive(Debug, Clone, Copy)]
enum Renewal {
    Valid,
    /// A success while there are others.
    Others(u32),
    Expired,
    Unavailable,
    Panic,
    /// A successful renewal after this time.
    ValidAfter(Duration),
}

/// A store that returns the given results of renewals, and success once they are used up.
#[derive(Default)]
struct Leases {
    /// True while nothing can be inserted.
    is_read_only: AtomicBool,
    answers: StdMutex<VecDeque<Renewal>>,
    registered: StdMutex<Vec<NodeId>>,
}

#[async_trait]
impl NodeRepository for Leases {
    async fn insert(
        &self,
        id: NodeId,
        _: &NodeProcess,
        _: Duration,
    ) -> Result<LiveNodes, RepositoryError> {
        if self.is_read_only.load(Ordering::SeqCst) {
            return Err(RepositoryError::Unavailable("read-only".into()));
        }
        self.registered.lock().unwrap().push(id);
        Ok(live(1))
    }

    async fn renew(&self, _: NodeId, _: Duration) -> Result<Option<LiveNodes>, RepositoryError> {
        let answer = self.answers.lock().unwrap().pop_front();
        match answer.unwrap_or(Renewal::Valid) {
            Renewal::Valid => Ok(Some(live(1))),
            Renewal::Others(others) => Ok(Some(live(1 + others))),
            Renewal::Expired => Ok(None),
            Renewal::Unavailable => Err(RepositoryError::Unavailable("unavailable".into())),
            Renewal::Panic => panic!("requested by the test"),
            Renewal::ValidAfter(time) => {
                tokio::time::sleep(time).await;
                Ok(Some(live(1)))
            }
        }
    }

    async fn report_far(
        &self,
        _: &RegionName,
        _: &FarNodeReport,
        _: Duration,
    ) -> Result<(), RepositoryError> {
        Ok(())
    }

    async fn list(&self) -> Result<Vec<LiveNode>, RepositoryError> {
        let live = |id| LiveNode {
            id,
            version: None,
            started_at: None,
            level: None,
            lease_until: Timestamp::from_milliseconds(10_000),
            lease_left: Duration::from_secs(8),
            running_turns: 0,
            far_region: None,
        };
        let registered = self.registered.lock().unwrap();
        Ok(registered.iter().copied().map(live).collect())
    }

    async fn delete(&self, id: NodeId) -> Result<(), RepositoryError> {
        self.registered.lock().unwrap().retain(|known| *known != id);
        Ok(())
    }
}

#[derive(Default)]
struct SequentialIds(AtomicU64);

impl IdSource for SequentialIds {
    fn next_id(&self) -> Uuid {
        Uuid::from_u128(u128::from(self.0.fetch_add(1, Ordering::SeqCst)) + 1)
    }

    fn fill_random(&self, _: &mut [u8]) {
        unreachable!("a node needs only ids")
    }
}

/// Returns a node, its store and its bus.
async fn registered() -> (Arc<Node>, Arc<Leases>, Arc<dyn EventBus>) {
    registered_in(Arc::default()).await
}

async fn registered_in(leases: Arc<Leases>) -> (Arc<Node>, Arc<Leases>, Arc<dyn EventBus>) {
    let bus: Arc<dyn EventBus> = Arc::new(LocalBus::new());
    let nodes: Arc<dyn NodeRepository> = leases.clone();
    let ids = Arc::new(SequentialIds::default());
    let node = Node::register(nodes, ids, Arc::clone(&bus), "1.2.3").await;
    (Arc::new(node.expect("the store answers")), leases, bus)
}

/// Returns a node that does not renew its lease.
pub(crate) async fn idle_node() -> Arc<Node> {
    registered().await.0
}

/// Returns a node that renews its lease, and its store.
async fn running(answers: impl IntoIterator<Item = Renewal>) -> (Arc<Node>, Arc<Leases>) {
    let (node, leases, _) = running_with_bus(answers).await;
    (node, leases)
}

async fn running_with_bus(
    answers: impl IntoIterator<Item = Renewal>,
) -> (Arc<Node>, Arc<Leases>, Arc<dyn EventBus>) {
    let (node, leases, bus) = registered().await;
    leases.answers.lock().unwrap().extend(answers);
    TaskTracker::new().spawn(Arc::clone(&node).run(CancellationToken::new()));
    (node, leases, bus)
}

async fn after(seconds: u64) {
    tokio::time::sleep(Duration::from_secs(seconds)).await;
}

#[tokio::test(start_paused = true)]
async fn a_streak_lasts_while_every_renewal_succeeds() {
    let (node, _) = running([Renewal::Valid, Renewal::Valid, Renewal::Unavailable]).await;
    after(5).await;
    assert_eq!(node.renewal_streak(), Duration::from_secs(5));
    after(2).await;
    assert_eq!(
        node.renewal_streak(),
        Duration::ZERO,
        "the third has failed"
    );
    after(3).await;
    assert_eq!(
        node.renewal_streak(),
        Duration::from_secs(1),
        "the fourth has not"
    );
    after(60).await;
    assert_eq!(
        node.renewal_streak(),
        Duration::from_mins(1) + Duration::from_secs(1)
    );
}

#[tokio::test(start_paused = true)]
async fn a_renewal_that_panics_ends_the_streak() {
    let (node, _) = running([Renewal::Valid, Renewal::Panic]).await;
    after(4).await;
    assert_eq!(node.renewal_streak(), Duration::ZERO);
    after(4).await;
    assert_eq!(
        node.renewal_streak(),
        Duration::from_secs(2),
        "the third has not"
    );
}

#[tokio::test(start_paused = true)]
async fn a_late_renewal_starts_a_new_streak() {
    let late = Renewal::ValidAfter(Duration::from_secs(20));
    let (node, _) = running([Renewal::Valid, Renewal::Valid, late]).await;
    after(7).await;
    assert_eq!(node.renewal_streak(), Duration::from_secs(7));
    after(5).await;
    assert_eq!(
        node.renewal_streak(),
        Duration::ZERO,
        "it waits for the third"
    );
    after(15).await;
    assert_eq!(
        node.renewal_streak(),
        Duration::from_secs(1),
        "it came after 26 s"
    );
}

#[tokio::test(start_paused = true)]
async fn an_expired_lease_leads_to_a_new_id_and_a_new_streak() {
    let (node, leases) = running([Renewal::Valid, Renewal::Expired]).await;
    let (before, mut watched) = (node.id(), node.watch());
    after(4).await;
    assert_ne!(node.id(), before);
    assert!(watched.has_changed().expect("the node exists"));
    assert_eq!(*watched.borrow_and_update(), node.id());
    assert_eq!(*leases.registered.lock().unwrap(), [before, node.id()]);
    assert_eq!(node.renewal_streak(), Duration::from_secs(1));
    // A later call with the old id finds the identity already renewed.
    node.renew_identity(before)
        .await
        .expect("the store answers");
    assert_eq!(leases.registered.lock().unwrap().len(), 2);
    assert!(!watched.has_changed().expect("the node exists"));
}

#[tokio::test(start_paused = true)]
async fn a_process_that_starts_on_a_read_only_store_registers_once_it_can() {
    let leases = Arc::new(Leases::default());
    leases.is_read_only.store(true, Ordering::SeqCst);
    let (node, leases, _) = registered_in(leases).await;
    let unknown = [Renewal::Expired, Renewal::Expired, Renewal::Expired];
    leases.answers.lock().unwrap().extend(unknown);
    TaskTracker::new().spawn(Arc::clone(&node).run(CancellationToken::new()));
    after(4).await;
    assert_eq!(node.renewal_streak(), Duration::ZERO);
    assert_eq!(*leases.registered.lock().unwrap(), []);
    leases.is_read_only.store(false, Ordering::SeqCst);
    after(3).await;
    assert_eq!(*leases.registered.lock().unwrap(), [node.id()]);
    assert_eq!(node.renewal_streak(), Duration::from_secs(1));
}

#[tokio::test(start_paused = true)]
async fn a_node_is_deleted_at_shutdown() {
    let (node, leases, _) = registered().await;
    let stop = CancellationToken::new();
    stop.cancel();
    node.run(stop).await;
    assert_eq!(*leases.registered.lock().unwrap(), []);
}

#[tokio::test(start_paused = true)]
async fn changes_of_the_number_of_nodes_are_reported() {
    let others = [Renewal::Others(1), Renewal::Others(1), Renewal::Valid];
    let (node, _) = running(others).await;
    let mut membership = node.watch_membership();
    assert_eq!(membership.borrow_and_update().live.count, 1);
    after(1).await;
    assert_eq!(membership.borrow_and_update().live.count, 2);
    after(3).await;
    assert!(!membership.has_changed().expect("the node exists"));
    after(3).await;
    let membership = *membership.borrow_and_update();
    assert_eq!((membership.node, membership.live.count), (node.id(), 1));
}

#[tokio::test(start_paused = true)]
async fn a_node_that_joins_is_noticed_at_once() {
    let renewals = [Renewal::Valid, Renewal::Others(1), Renewal::Others(2)];
    let (node, _, bus) = running_with_bus(renewals).await;
    TaskTracker::new().spawn(Arc::clone(&node).renew_on_join());
    after(1).await;
    let since = Instant::now();
    let mut membership = node.watch_membership();
    assert_eq!(membership.borrow_and_update().live.count, 1);
    // Several at once need one renewal.
    bus.publish(Signal::NodeJoined);
    bus.publish(Signal::NodeJoined);
    membership.changed().await.expect("the node exists");
    assert_eq!(membership.borrow_and_update().live.count, 2);
    bus.publish(Signal::SignalsLost);
    membership.changed().await.expect("the node exists");
    assert_eq!(membership.borrow_and_update().live.count, 3);
    assert_eq!(
        since.elapsed(),
        Duration::ZERO,
        "before the next regular one"
    );
}

#[tokio::test(start_paused = true)]
async fn a_new_id_is_reported_to_other_nodes() {
    let (_node, _, bus) = running_with_bus([Renewal::Valid, Renewal::Expired]).await;
    let mut joined = bus.subscribe(Box::new(|signal| *signal == Signal::NodeJoined));
    let reported = tokio::time::timeout(Duration::from_secs(4), joined.next()).await;
    assert_eq!(reported.expect("a report"), Some(Signal::NodeJoined));
}

#[tokio::test(start_paused = true)]
async fn the_result_of_the_last_renewal_is_kept() {
    let late = Renewal::ValidAfter(Duration::from_secs(2));
    let renewals = [Renewal::Valid, late, Renewal::Others(2)];
    let (node, _, bus) = running_with_bus(renewals).await;
    TaskTracker::new().spawn(Arc::clone(&node).renew_on_join());
    after(4).await;
    // The renewal of the third second has not ended yet.
    bus.publish(Signal::NodeJoined);
    tokio::time::sleep(Duration::from_millis(1_500)).await;
    assert_eq!(node.watch_membership().borrow().live.count, 3);
}

#[tokio::test(start_paused = true)]
async fn live_nodes_are_listed_with_the_age_of_their_lease() {
    let (node, leases) = running([]).await;
    let other = NodeId::new(Uuid::from_u128(77));
    leases.registered.lock().unwrap().push(other);
    let listed = node.list().await.expect("the store answers");
    let own: Vec<_> = listed.iter().map(|it| (it.node.id, it.is_own)).collect();
    assert_eq!(own, [(node.id(), true), (other, false)]);
    assert_eq!(listed[1].renewed_ago, Duration::from_secs(2));
}
