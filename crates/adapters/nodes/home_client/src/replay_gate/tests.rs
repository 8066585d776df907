use async_trait::async_trait;
use domain::{ConversationId, NodeId};
use futures::FutureExt as _;
use ports::{
    EventDecision, EventPage, EventQuery, LogBounds, LogHead, LoggedChange, ReplyPart,
    RepositoryError,
};
use uuid::Uuid;

use super::*;

/// A replica with a head that the test sets.
#[derive(Default)]
struct Replica(parking_lot::Mutex<HashMap<TenantId, Seq>>);

impl Replica {
    fn replay(&self, tenant: &TenantId, head: i64) {
        self.0.lock().insert(tenant.clone(), Seq(head));
    }
}

#[async_trait]
impl EventLog for Replica {
    async fn page(
        &self,
        _: &TenantId,
        _: &EventQuery,
        _: &dyn EventDecision,
    ) -> Result<EventPage, RepositoryError> {
        Err(RepositoryError::Unavailable("not read".into()))
    }

    async fn count(&self, _: &TenantId, _: &EventQuery) -> Result<usize, RepositoryError> {
        Err(RepositoryError::Unavailable("not counted".into()))
    }

    async fn bounds(&self, tenant: &TenantId) -> Result<LogBounds, RepositoryError> {
        let head = self.0.lock().get(tenant).copied();
        let head = head.ok_or(RepositoryError::Unavailable("unreachable".into()))?;
        Ok(LogBounds::new(Seq(1), head))
    }

    async fn heads(&self) -> Result<Vec<LogHead>, RepositoryError> {
        Ok(Vec::new())
    }

    async fn changes(
        &self,
        _: &TenantId,
        _: Seq,
        _: usize,
    ) -> Result<Vec<LoggedChange>, RepositoryError> {
        Ok(Vec::new())
    }
}

/// A gate between two buses.
struct Fixture {
    replica: Arc<Replica>,
    arriving: Arc<LocalBus>,
    delivered: BoxStream<'static, Signal>,
    _local: Arc<LocalBus>,
    _task: tokio::task::JoinSet<()>,
}

impl Fixture {
    fn start() -> Self {
        let (replica, local) = (Arc::new(Replica::default()), Arc::new(LocalBus::new()));
        let arriving = Arc::new(LocalBus::new());
        let gate = ReplayGate::new(Arc::clone(&replica) as _, Arc::downgrade(&local));
        let mut task = tokio::task::JoinSet::new();
        task.spawn(gate.run(arriving.subscribe(Box::new(|_| true))));
        Self {
            replica,
            arriving,
            delivered: local.subscribe(Box::new(|_| true)),
            _local: local,
            _task: task,
        }
    }

    fn receive(&self, signals: impl IntoIterator<Item = Signal>) {
        for signal in signals {
            self.arriving.publish(signal);
        }
    }

    /// The signals that are delivered within a second.
    async fn delivered(&mut self) -> Vec<Signal> {
        tokio::time::sleep(Duration::from_secs(1)).await;
        let mut delivered = Vec::new();
        while let Some(Some(signal)) = self.delivered.next().now_or_never() {
            delivered.push(signal);
        }
        delivered
    }
}

fn tenant() -> TenantId {
    "default".parse().unwrap()
}

fn head(head: i64) -> Signal {
    Signal::LogAppended {
        tenant: tenant(),
        head: Seq(head),
    }
}

fn part(turn: u128, from: usize) -> Signal {
    Signal::ReplyPart {
        tenant: tenant(),
        conversation_id: ConversationId::new(Uuid::from_u128(1)),
        turn_id: TurnId::new(Uuid::from_u128(turn)),
        node: NodeId::new(Uuid::from_u128(1)),
        resumptions: 0,
        part: ReplyPart::Text {
            from,
            text: "a".to_owned(),
        },
    }
}

#[tokio::test(start_paused = true)]
async fn a_head_waits_until_the_replica_has_it_and_only_the_newest_is_delivered() {
    let mut gate = Fixture::start();
    gate.replica.replay(&tenant(), 4);
    gate.receive([head(5), head(6), head(5)]);
    assert_eq!(gate.delivered().await, []);
    gate.replica.replay(&tenant(), 5);
    assert_eq!(gate.delivered().await, []);
    gate.replica.replay(&tenant(), 6);
    assert_eq!(gate.delivered().await, [head(6)]);
    // It is known now, and so is what comes before it.
    gate.receive([head(6), head(3)]);
    assert_eq!(gate.delivered().await, [head(6), head(3)]);
}

#[tokio::test(start_paused = true)]
async fn signals_about_nothing_in_the_log_do_not_wait() {
    let mut gate = Fixture::start();
    gate.receive([head(5), Signal::AccessChanged, Signal::SignalsLost]);
    let delivered = [Signal::AccessChanged, Signal::SignalsLost];
    assert_eq!(gate.delivered().await, delivered);
}

#[tokio::test(start_paused = true)]
async fn parts_wait_for_the_start_of_their_turn_and_keep_their_order() {
    let mut gate = Fixture::start();
    gate.receive([head(5), part(1, 0), part(1, 1)]);
    // A later change of the tenant does not concern the turn.
    gate.receive([head(9), part(1, 2)]);
    assert_eq!(gate.delivered().await, []);
    gate.replica.replay(&tenant(), 5);
    assert_eq!(gate.delivered().await, [0, 1, 2].map(|from| part(1, from)));
    gate.receive([part(1, 3), part(2, 0)]);
    assert_eq!(gate.delivered().await, [part(1, 3)]);
    gate.replica.replay(&tenant(), 9);
    assert_eq!(gate.delivered().await, [head(9), part(2, 0)]);
}

#[tokio::test(start_paused = true)]
async fn an_unreachable_replica_delays_signals_and_loses_none() {
    let mut gate = Fixture::start();
    gate.receive([head(5), part(1, 0)]);
    // `bounds` fails as long as the replica has no head.
    assert_eq!(gate.delivered().await, []);
    gate.replica.replay(&tenant(), 5);
    assert_eq!(gate.delivered().await, [head(5), part(1, 0)]);
}

#[tokio::test(start_paused = true)]
async fn the_parts_that_wait_are_limited() {
    let local = Arc::new(LocalBus::new());
    let replica = Arc::new(Replica::default());
    let mut gate = ReplayGate::new(Arc::clone(&replica) as _, Arc::downgrade(&local));
    gate.accept(head(5)).unwrap();
    for from in 0..2 * MAX_HELD_PARTS {
        gate.accept(part(1, from)).unwrap();
    }
    let held: usize = gate.replies.values().map(|held| held.parts.len()).sum();
    assert_eq!(held, MAX_HELD_PARTS);
    replica.replay(&tenant(), 5);
    let read = gate.read_heads().await;
    gate.apply(read).unwrap();
    assert!(gate.replies.is_empty() && gate.heads.is_empty());
    for turn in 0..2 * MAX_PASSED {
        gate.accept(part(u128::try_from(turn).unwrap(), 0)).unwrap();
    }
    assert!(gate.passed.len() <= MAX_PASSED);
}
