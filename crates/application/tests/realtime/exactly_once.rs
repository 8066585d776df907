//! Delivery of events under any interleaving of appends, hints, removals, failures and reads.
//! A reader that continues from `next` receives every visible event once and in order, or is
//! notified that it has missed events.

use std::sync::Arc;

use application::realtime::{EventFilter, Followed, Read, SerializedEvent};
use domain::Seq;
use proptest::{collection::vec, option, prelude::*};
use tokio::{task::JoinSet, time::Duration};

use crate::{
    fake_log::FakeLog,
    samples::{FilterSample, Sample, tenant},
    world::{World, events},
};

/// The time without events after which a follower must have received everything.
const SILENCE: Duration = Duration::from_mins(10);

/// A step of a scenario.
#[derive(Debug, Clone)]
enum Step {
    Append(Vec<Sample>),
    /// Hints of a head that is this far behind the true one.
    Hint {
        behind: i64,
        times: usize,
    },
    Trim(i64),
    /// Makes this number of calls to the log fail.
    Fail(u32),
    SlowDown(usize),
    /// Yields to other tasks this number of times.
    Others(usize),
    /// Opens a reader this far behind the head. A negative number is ahead of the head.
    Open {
        filter: FilterSample,
        behind: i64,
    },
    /// Starts a follower this far behind the head.
    Follow {
        filter: FilterSample,
        behind: i64,
    },
    /// Lets a reader read its next page.
    Read {
        reader: usize,
        limit: usize,
    },
}

fn sample() -> impl Strategy<Value = Sample> {
    let numbers = (0..12usize, 0..3u8, option::of(0..3u8));
    (numbers, option::of(0..2u8), option::of(0..2u8)).prop_map(
        |((kind, agent, conversation), user, asker)| Sample {
            kind,
            agent,
            conversation,
            user,
            asker,
            bytes: 0,
        },
    )
}

fn filter() -> impl Strategy<Value = FilterSample> {
    let narrow = (vec(0..11usize, 0..3), option::weighted(0.2, 0..3u8));
    let view = (prop::bool::weighted(0.8), prop::bool::weighted(0.8), 0..2u8);
    let narrower = option::weighted(0.2, 0..3u8);
    (narrow, narrower, view, option::weighted(0.3, 0..2u8)).prop_map(
        |((types, agent), conversation, (agents, conversations, principal), user)| FilterSample {
            types,
            agent,
            conversation,
            agents,
            conversations,
            principal,
            user,
        },
    )
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => vec(sample(), 1..20).prop_map(Step::Append),
        3 => (0..30i64, 1..3usize).prop_map(|(behind, times)| Step::Hint { behind, times }),
        1 => (1..30i64).prop_map(Step::Trim),
        1 => (1..4u32).prop_map(Step::Fail),
        1 => (0..4usize).prop_map(Step::SlowDown),
        3 => (1..12usize).prop_map(Step::Others),
        1 => (filter(), -2..40i64).prop_map(|(filter, behind)| Step::Open { filter, behind }),
        1 => (filter(), -2..40i64).prop_map(|(filter, behind)| Step::Follow { filter, behind }),
        6 => (any::<usize>(), 1..9usize).prop_map(|(reader, limit)| Step::Read { reader, limit }),
    ]
}

/// A reader that reads one page at a step.
struct Reader {
    filter: EventFilter,
    since: Seq,
}

/// Asserts that the events received between two positions are those of the log.
fn assert_told(log: &FakeLog, filter: &EventFilter, told: &[Seq], from: Seq, to: Seq) {
    let expected = log.between(filter, from, to);
    let expected: Vec<_> = expected.iter().map(|logged| logged.event.seq).collect();
    assert_eq!(told, expected, "between {from:?} and {to:?}");
}

fn assert_missed(log: &FakeLog, from: Seq, head_before: Seq) {
    let is_before = from.plus(1) < log.first();
    assert!(
        is_before || from > head_before,
        "nothing was missed at {from:?}"
    );
}

fn told(events: &[Arc<SerializedEvent>]) -> Vec<Seq> {
    events.iter().map(|event| event.seq()).collect()
}

impl Reader {
    /// Reads the next page and returns whether the reader has reached the head.
    async fn step(&mut self, world: &World, limit: usize) -> bool {
        let Ok(tail) = world.feed.tail(&tenant()).await else {
            return false;
        };
        let (from, head_before) = (self.since, world.log.head());
        let read = world
            .reader
            .read(&tail, &self.filter, from, events(limit))
            .await;
        match read {
            Err(_failing) => false,
            Ok(Read::Expired { head, .. }) => {
                assert_missed(&world.log, from, head_before);
                self.since = head;
                false
            }
            Ok(Read::Events {
                events,
                next,
                at_tail,
            }) => {
                assert!(events.len() <= limit && next >= from);
                assert!(next > from || at_tail, "it does not get on");
                assert_told(&world.log, &self.filter, &told(&events), from, next);
                self.since = next;
                at_tail && next == world.log.head()
            }
        }
    }
}

/// Follows the log until no more events arrive, and checks everything that it receives.
async fn follow(world: Arc<World>, filter: EventFilter, since: Seq) {
    let mut follower = loop {
        let reader = Arc::clone(&world.reader);
        match reader.follow(&tenant(), filter.clone(), Some(since)).await {
            Ok(follower) => break follower,
            Err(_failing) => tokio::time::sleep(Duration::from_millis(1)).await,
        }
    };
    loop {
        let (from, head_before) = (follower.position(), world.log.head());
        let Ok(next) = tokio::time::timeout(SILENCE, follower.next()).await else {
            break;
        };
        let to = follower.position();
        match next {
            Ok(Followed::Events(events)) => {
                assert!(!events.is_empty());
                assert_told(&world.log, &filter, &told(&events), from, to);
            }
            Ok(Followed::Position(position)) => {
                assert!(position == to && to > from, "it does not get on");
                assert_told(&world.log, &filter, &[], from, to);
            }
            Ok(Followed::Missed { .. }) => assert_missed(&world.log, from, head_before),
            Err(_failing) => tokio::time::sleep(Duration::from_millis(1)).await,
        }
    }
    assert_eq!(follower.position(), world.log.head());
}

async fn play(steps: Vec<Step>) {
    let world = Arc::new(World::new());
    let mut readers = Vec::new();
    let mut followers = JoinSet::new();
    for step in steps {
        let head = world.log.head().0;
        let behind = |count: i64| Seq((head - count).max(0));
        match step {
            Step::Append(samples) => world.log.append(samples),
            Step::Hint {
                behind: count,
                times,
            } => (0..times).for_each(|_| world.feed.note_head(&tenant(), behind(count))),
            Step::Trim(count) => world.log.trim(count),
            Step::Fail(calls) => world.log.fail(calls),
            Step::SlowDown(turns) => world.log.slow_down(turns),
            Step::Others(turns) => {
                for _ in 0..turns {
                    tokio::task::yield_now().await;
                }
            }
            Step::Open {
                filter,
                behind: count,
            } => readers.push(Reader {
                filter: filter.filter(),
                since: behind(count),
            }),
            Step::Follow {
                filter,
                behind: count,
            } => {
                let world = Arc::clone(&world);
                followers.spawn(follow(world, filter.filter(), behind(count)));
            }
            Step::Read { reader, limit } => {
                let count = readers.len().max(1);
                if let Some(reader) = readers.get_mut(reader % count) {
                    reader.step(&world, limit).await;
                }
            }
        }
    }
    end(&world, readers).await;
    while let Some(followed) = followers.join_next().await {
        followed.expect("a follower is told the truth");
    }
}

/// Lets every reader reach the head: the store works again, and the head is published every
/// second, as in production.
async fn end(world: &World, readers: Vec<Reader>) {
    world.log.fail(0);
    for mut reader in readers {
        let mut tries = 0;
        while !reader.step(world, 3).await {
            world.hint();
            tokio::time::sleep(Duration::from_secs(1)).await;
            tries += 1;
            assert!(tries < 2_000, "it does not reach the end");
        }
    }
    world.hint();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]
    #[test]
    fn a_reader_receives_every_event_once_and_in_order(steps in vec(step(), 1..60)) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .unwrap();
        runtime.block_on(play(steps));
    }
}
