use std::{
    collections::VecDeque,
    sync::{
        Mutex as StdMutex,
        atomic::{AtomicU64, Ordering},
    },
};

use async_trait::async_trait;
use tokio_util::task::TaskTracker;
use uuid::Uuid;

use super::*;

/// The result of a renewal.
#[derive(Debug, Clone, Copy)]
enum Renewal {
    Held,
    TakenForDead,
    Away,
    Panic,
    /// A successful renewal after this time.
    HeldAfter(Duration),
}

/// A store that returns the given results of renewals, and success once they are used up.
#[derive(Default)]
struct Leases {
    answers: StdMutex<VecDeque<Renewal>>,
    registered: StdMutex<Vec<NodeId>>,
}

#[async_trait]
impl NodeRepository for Leases {
    async fn insert(&self, id: NodeId, _: Duration) -> Result<(), RepositoryError> {
        self.registered.lock().unwrap().push(id);
        Ok(())
    }

    async fn renew(&self, _: NodeId, _: Duration) -> Result<bool, RepositoryError> {
        let answer = self.answers.lock().unwrap().pop_front();
        match answer.unwrap_or(Renewal::Held) {
            Renewal::Held => Ok(true),
            Renewal::TakenForDead => Ok(false),
            Renewal::Away => Err(RepositoryError::Unavailable("away".into())),
            Renewal::Panic => panic!("as the test wants"),
            Renewal::HeldAfter(time) => {
                tokio::time::sleep(time).await;
                Ok(true)
            }
        }
    }

    async fn delete(&self, id: NodeId) -> Result<(), RepositoryError> {
        self.registered.lock().unwrap().retain(|known| *known != id);
        Ok(())
    }
}

#[derive(Default)]
struct Numbers(AtomicU64);

impl IdSource for Numbers {
    fn next_id(&self) -> Uuid {
        Uuid::from_u128(u128::from(self.0.fetch_add(1, Ordering::SeqCst)) + 1)
    }

    fn fill_random(&self, _: &mut [u8]) {
        unreachable!("an id is all that a node needs")
    }
}

/// Returns a node that renews its lease, and its store.
async fn running(answers: impl IntoIterator<Item = Renewal>) -> (Arc<Node>, Arc<Leases>) {
    let leases = Arc::new(Leases::default());
    leases.answers.lock().unwrap().extend(answers);
    let nodes: Arc<dyn NodeRepository> = leases.clone();
    let node = Node::register(nodes, Arc::new(Numbers::default())).await;
    let node = Arc::new(node.expect("the store answers"));
    TaskTracker::new().spawn(Arc::clone(&node).run(CancellationToken::new()));
    (node, leases)
}

async fn after(seconds: u64) {
    tokio::time::sleep(Duration::from_secs(seconds)).await;
}

#[tokio::test(start_paused = true)]
async fn is_steady_for_as_long_as_every_renewal_has_succeeded() {
    let (node, _) = running([Renewal::Held, Renewal::Held, Renewal::Away]).await;
    after(5).await;
    assert_eq!(node.steady_for(), Duration::from_secs(5));
    after(2).await;
    assert_eq!(node.steady_for(), Duration::ZERO, "the third has failed");
    after(3).await;
    assert_eq!(
        node.steady_for(),
        Duration::from_secs(1),
        "the fourth has not"
    );
    after(60).await;
    assert_eq!(
        node.steady_for(),
        Duration::from_mins(1) + Duration::from_secs(1)
    );
}

#[tokio::test(start_paused = true)]
async fn a_renewal_that_panics_is_one_that_has_failed() {
    let (node, _) = running([Renewal::Held, Renewal::Panic]).await;
    after(4).await;
    assert_eq!(node.steady_for(), Duration::ZERO);
    after(4).await;
    assert_eq!(
        node.steady_for(),
        Duration::from_secs(2),
        "the third has not"
    );
}

#[tokio::test(start_paused = true)]
async fn is_not_steady_while_a_renewal_is_missing_nor_at_once_afterwards() {
    let late = Renewal::HeldAfter(Duration::from_secs(20));
    let (node, _) = running([Renewal::Held, Renewal::Held, late]).await;
    after(7).await;
    assert_eq!(node.steady_for(), Duration::from_secs(7));
    after(5).await;
    assert_eq!(node.steady_for(), Duration::ZERO, "it waits for the third");
    after(15).await;
    assert_eq!(
        node.steady_for(),
        Duration::from_secs(1),
        "it came after 26 s"
    );
}

#[tokio::test(start_paused = true)]
async fn goes_on_under_a_new_id_and_begins_anew_to_be_steady() {
    let (node, leases) = running([Renewal::Held, Renewal::TakenForDead]).await;
    let (before, mut watched) = (node.id(), node.watch());
    after(4).await;
    assert_ne!(node.id(), before);
    assert!(watched.has_changed().expect("the node lives"));
    assert_eq!(*watched.borrow_and_update(), node.id());
    assert_eq!(*leases.registered.lock().unwrap(), [before, node.id()]);
    assert_eq!(node.steady_for(), Duration::from_secs(1));
    // A later call with the old id finds the identity already renewed.
    node.renew_identity(before)
        .await
        .expect("the store answers");
    assert_eq!(leases.registered.lock().unwrap().len(), 2);
    assert!(!watched.has_changed().expect("the node lives"));
}

#[tokio::test(start_paused = true)]
async fn signs_off_at_the_end() {
    let leases = Arc::new(Leases::default());
    let nodes: Arc<dyn NodeRepository> = leases.clone();
    let node = Node::register(nodes, Arc::new(Numbers::default())).await;
    let stop = CancellationToken::new();
    stop.cancel();
    Arc::new(node.expect("the store answers")).run(stop).await;
    assert_eq!(*leases.registered.lock().unwrap(), []);
}
