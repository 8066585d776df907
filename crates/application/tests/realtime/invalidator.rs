//! The reaction of [`CacheInvalidator`] to growth of the log, with and without a signal.

use std::sync::Arc;

use application::{
    cache::{CacheInvalidator, Caches},
    realtime::Tail,
};
use domain::{AgentId, ConversationState, EventType, Seq, Timestamp};
use ports::{Clock, EventBus, Signal};
use single_node::LocalBus;
use tokio::time::{Duration, Instant};
use uuid::Uuid;
use writes::Committed;

use crate::fixture::{EventSpec, Fixture, conversation, tenant, user};

struct FixedClock;

impl Clock for FixedClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_milliseconds(43_200_000)
    }

    fn running_for(&self) -> Duration {
        Duration::ZERO
    }
}

/// A process that follows a log.
struct Process {
    fixture: Fixture,
    bus: Arc<dyn EventBus>,
    caches: Caches,
}

impl Process {
    /// Starts a process that follows the log from its beginning.
    async fn started() -> Self {
        let fixture = Fixture::new();
        let bus: Arc<dyn EventBus> = Arc::new(LocalBus::new());
        let caches = Caches::new(Arc::clone(&bus));
        caches.applied.follow(&tenant(), Seq(0));
        let log = Arc::clone(&fixture.log);
        let (own_bus, tails) = (Arc::clone(&bus), Arc::clone(&fixture.tails));
        let clock = Arc::new(FixedClock);
        let invalidator = CacheInvalidator::new(log, caches.clone(), clock, own_bus, tails);
        fixture.tasks.spawn(invalidator.run(fixture.stop.clone()));
        let reading = Arc::clone(&fixture.tails).run(Arc::clone(&bus));
        fixture.tasks.spawn(reading);
        // After this time it has read the heads for the first time and listens for signals.
        tokio::time::sleep(Duration::from_millis(1)).await;
        Self {
            fixture,
            bus,
            caches,
        }
    }

    fn applied(&self) -> Option<Seq> {
        self.caches.applied.position(&tenant())
    }

    /// Waits until a condition holds and returns the time that this took.
    async fn until(&self, what: &str, holds: impl Fn(&Self) -> bool) -> Duration {
        let began = Instant::now();
        while !holds(self) {
            assert!(began.elapsed() < Duration::from_secs(10), "never {what}");
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        began.elapsed()
    }

    /// Caches the state of the conversation, which belongs to this user, as at `position`.
    fn cache_state(&self, user_id: &str, position: i64) {
        let state = ConversationState {
            id: conversation(0),
            agent_id: AgentId::new(Uuid::nil()),
            user_id: Some(user_id.to_owned()),
            last_message_seq: 0,
            turn_count: 0,
            running_turn: None,
            newest_message: None,
        };
        let (key, position) = ((tenant(), state.id), Seq(position));
        self.caches.states.replace(key, Arc::new(state), position);
    }

    fn is_state_cached(&self) -> bool {
        let state = self.caches.states.get(&(tenant(), conversation(0)));
        state.is_some()
    }

    /// Appends events as another process, without a signal.
    fn others_write(&self, count: usize) {
        self.fixture.log.grow(count);
    }

    fn signal(&self) {
        self.bus.publish(Signal::LogAppended {
            tenant: tenant(),
            head: self.fixture.log.head(),
        });
    }
}

/// A state that this process has written after a move by another one is computed from an older state, and
/// belongs to the user before.
#[tokio::test(start_paused = true)]
async fn a_move_drops_also_a_newer_state_and_other_updates_drop_none() {
    let process = Process::started().await;
    let update = EventSpec {
        user: Some(2),
        ..EventSpec::of_type(EventType::ConversationUpdated)
    };
    process.cache_state(&user(1), 9);
    process.fixture.log.append([update.clone()]);
    process.signal();
    let is_applied = |process: &Process| process.applied() == Some(Seq(1));
    process.until("applied", is_applied).await;
    assert!(process.is_state_cached());
    process.fixture.log.append([EventSpec {
        moved_from: Some(1),
        ..update
    }]);
    process.signal();
    let is_applied = |process: &Process| process.applied() == Some(Seq(2));
    process.until("applied", is_applied).await;
    assert!(!process.is_state_cached());
}

fn at(tail: &Tail, position: i64) -> impl Fn(&Process) -> bool {
    move |_| tail.position() == Seq(position)
}

#[tokio::test(start_paused = true)]
async fn signals_of_other_processes_are_processed_at_once() {
    let process = Process::started().await;
    let tail = process.fixture.tail().await;
    process.others_write(3);
    process.signal();
    let read = process.until("read", at(&tail, 3)).await;
    assert!(read < Duration::from_millis(5), "{read:?}");
    let is_applied = |process: &Process| process.applied() == Some(Seq(3));
    let applied = process.until("applied", is_applied).await;
    assert!(applied < Duration::from_millis(50), "{applied:?}");
}

/// The store decides what the log contains.
#[tokio::test(start_paused = true)]
async fn a_signalled_head_beyond_the_log_is_not_applied() {
    let process = Process::started().await;
    process.others_write(3);
    process.bus.publish(Signal::LogAppended {
        tenant: tenant(),
        head: Seq(1_000),
    });
    let is_applied = |process: &Process| process.applied() == Some(Seq(3));
    process.until("applied", is_applied).await;
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!(process.applied(), Some(Seq(3)));
    process.others_write(2);
    process.signal();
    let is_applied = |process: &Process| process.applied() == Some(Seq(5));
    process.until("applied", is_applied).await;
}

#[tokio::test(start_paused = true)]
async fn events_without_a_signal_are_found_within_a_second() {
    let process = Process::started().await;
    let tail = process.fixture.tail().await;
    process.others_write(3);
    let read = process.until("read", at(&tail, 3)).await;
    assert!(read > Duration::from_millis(500), "{read:?}");
    assert!(read <= Duration::from_millis(1_010), "{read:?}");
    assert_eq!(process.applied(), Some(Seq(3)));
}

#[tokio::test(start_paused = true)]
async fn own_writes_reach_the_tails_and_are_not_read_for_the_caches() {
    let process = Process::started().await;
    let tail = process.fixture.tail().await;
    process.fixture.log.grow(4);
    // The responses of writes arrive in any order.
    for (first, last) in [(3, 4), (1, 2)] {
        let (first, last) = (Seq(first), Seq(last));
        let committed = Committed { first, last };
        process.caches.applied.record_write(&tenant(), committed);
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let read = process.until("read", at(&tail, 4)).await;
    assert!(read < Duration::from_millis(5), "{read:?}");
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert_eq!(process.fixture.log.changes_read(), 0);
}

#[tokio::test(start_paused = true)]
async fn events_are_read_within_a_second_after_the_store_recovers() {
    let process = Process::started().await;
    let tail = process.fixture.tail().await;
    process.fixture.log.fail(u32::MAX);
    process.others_write(1);
    process.signal();
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert_eq!(tail.position(), Seq(0));
    process.fixture.log.fail(0);
    let read = process.until("read", at(&tail, 1)).await;
    assert!(read <= Duration::from_millis(1_010), "{read:?}");
    process
        .until("applied", |process| process.applied() == Some(Seq(1)))
        .await;
}

#[tokio::test(start_paused = true)]
async fn a_panic_in_one_round_does_not_prevent_the_next() {
    let process = Process::started().await;
    let tail = process.fixture.tail().await;
    // The first panic hits the task that reads events for followers.
    process.others_write(1);
    process.fixture.log.panic(1);
    process.fixture.hint();
    process
        .until("panicked", |it| it.fixture.log.panics_left() == 0)
        .await;
    process.until("read", at(&tail, 1)).await;
    // The second panic hits the task that reads the heads.
    process.others_write(1);
    process.fixture.log.panic(1);
    process
        .until("panicked", |it| it.fixture.log.panics_left() == 0)
        .await;
    process.until("read", at(&tail, 2)).await;
    process
        .until("applied", |it| it.applied() == Some(Seq(2)))
        .await;
}
