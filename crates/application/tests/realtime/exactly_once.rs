//! Delivery of events under any interleaving of appends, hints, removals, failures and reads.
//! A reader that continues from `next` receives every visible event once and in order, or is
//! notified that it has missed events.

use std::sync::Arc;

use application::realtime::{EventFilter, LogRead, LogUpdate, SerializedEvent};
use domain::Seq;
use proptest::{collection::vec, option, prelude::*};
use tokio::{task::JoinSet, time::Duration};

use crate::fixture::{EventSpec, FilterSpec, Fixture, InMemoryLog, events, tenant};

/// The time without events after which a follower must have received everything.
const SILENCE: Duration = Duration::from_mins(10);

/// A step of a scenario.
#[derive(Debug, Clone)]
enum Step {
    Append(Vec<EventSpec>),
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
    Yield(usize),
    /// Opens a reader this far behind the head. A negative number is ahead of the head.
    Open {
        filter: FilterSpec,
        behind: i64,
    },
    /// Starts a follower this far behind the head.
    Follow {
        filter: FilterSpec,
        behind: i64,
    },
    /// Lets a reader read its next page.
    ReadPage {
        reader: usize,
        limit: usize,
    },
}

fn spec() -> impl Strategy<Value = EventSpec> {
    let numbers = (0..12usize, 0..3u8, option::of(0..3u8));
    (numbers, option::of(0..2u8), option::of(0..2u8)).prop_map(
        |((kind, agent, conversation), user, started_by)| EventSpec {
            kind,
            agent,
            conversation,
            user,
            started_by,
            moved_from: None,
            bytes: 0,
        },
    )
}

fn filter() -> impl Strategy<Value = FilterSpec> {
    let narrow = (vec(0..11usize, 0..3), option::weighted(0.2, 0..3u8));
    let view = (prop::bool::weighted(0.8), prop::bool::weighted(0.8), 0..2u8);
    let narrower = option::weighted(0.2, 0..3u8);
    (narrow, narrower, view, option::weighted(0.3, 0..2u8)).prop_map(
        |((types, agent), conversation, (agents, conversations, principal), user)| FilterSpec {
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
        4 => vec(spec(), 1..20).prop_map(Step::Append),
        3 => (0..30i64, 1..3usize).prop_map(|(behind, times)| Step::Hint { behind, times }),
        1 => (1..30i64).prop_map(Step::Trim),
        1 => (1..4u32).prop_map(Step::Fail),
        1 => (0..4usize).prop_map(Step::SlowDown),
        3 => (1..12usize).prop_map(Step::Yield),
        1 => (filter(), -2..40i64).prop_map(|(filter, behind)| Step::Open { filter, behind }),
        1 => (filter(), -2..40i64).prop_map(|(filter, behind)| Step::Follow { filter, behind }),
        6 => (any::<usize>(), 1..9usize).prop_map(|(reader, limit)| Step::ReadPage { reader, limit }),
    ]
}

/// A reader that reads one page at a step.
struct Reader {
    filter: EventFilter,
    since: Seq,
}

/// Asserts that the events received between two positions are those of the log.
fn assert_received(log: &InMemoryLog, filter: &EventFilter, received: &[Seq], from: Seq, to: Seq) {
    let expected = log.between(filter, from, to);
    let expected: Vec<_> = expected.iter().map(|logged| logged.event.seq).collect();
    assert_eq!(received, expected, "between {from:?} and {to:?}");
}

fn assert_missed(log: &InMemoryLog, from: Seq, head_before: Seq) {
    let is_before = from.plus(1) < log.first();
    assert!(
        is_before || from > head_before,
        "nothing was missed at {from:?}"
    );
}

fn seqs(events: &[Arc<SerializedEvent>]) -> Vec<Seq> {
    events.iter().map(|event| event.seq()).collect()
}

impl Reader {
    /// Reads the next page and returns whether the reader has reached the head.
    async fn step(&mut self, fixture: &Fixture, limit: usize) -> bool {
        let Ok(tail) = fixture.tails.tail(&tenant()).await else {
            return false;
        };
        let (from, head_before) = (self.since, fixture.log.head());
        let read = fixture
            .reader
            .read(&tail, &self.filter, from, events(limit))
            .await;
        match read {
            Err(_failing) => false,
            Ok(LogRead::Expired { head, .. }) => {
                assert_missed(&fixture.log, from, head_before);
                self.since = head;
                false
            }
            Ok(LogRead::Events {
                events,
                next,
                at_tail,
            }) => {
                assert!(events.len() <= limit && next >= from);
                assert!(next > from || at_tail, "the position advances");
                assert_received(&fixture.log, &self.filter, &seqs(&events), from, next);
                self.since = next;
                at_tail && next == fixture.log.head()
            }
        }
    }
}

/// Follows the log until no more events arrive, and checks everything that it receives.
async fn follow(fixture: Arc<Fixture>, filter: EventFilter, since: Seq) {
    let mut follower = loop {
        let reader = Arc::clone(&fixture.reader);
        match reader.follow(&tenant(), filter.clone(), Some(since)).await {
            Ok(follower) => break follower,
            Err(_failing) => tokio::time::sleep(Duration::from_millis(1)).await,
        }
    };
    loop {
        let (from, head_before) = (follower.position(), fixture.log.head());
        let Ok(next) = tokio::time::timeout(SILENCE, follower.next()).await else {
            break;
        };
        let to = follower.position();
        match next {
            Ok(LogUpdate::Events(events)) => {
                assert!(!events.is_empty());
                assert_received(&fixture.log, &filter, &seqs(&events), from, to);
            }
            Ok(LogUpdate::Position(position)) => {
                assert!(position == to && to > from, "the position advances");
                assert_received(&fixture.log, &filter, &[], from, to);
            }
            Ok(LogUpdate::Missed { .. }) => assert_missed(&fixture.log, from, head_before),
            Err(_failing) => tokio::time::sleep(Duration::from_millis(1)).await,
        }
    }
    assert_eq!(follower.position(), fixture.log.head());
}

async fn play(steps: Vec<Step>) {
    let fixture = Arc::new(Fixture::new());
    let mut readers = Vec::new();
    let mut followers = JoinSet::new();
    for step in steps {
        let head = fixture.log.head().0;
        let behind = |count: i64| Seq((head - count).max(0));
        match step {
            Step::Append(specs) => fixture.log.append(specs),
            Step::Hint {
                behind: count,
                times,
            } => (0..times).for_each(|_| fixture.tails.report_head(&tenant(), behind(count))),
            Step::Trim(count) => fixture.log.trim(count),
            Step::Fail(calls) => fixture.log.fail(calls),
            Step::SlowDown(turns) => fixture.log.slow_down(turns),
            Step::Yield(turns) => {
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
                let fixture = Arc::clone(&fixture);
                followers.spawn(follow(fixture, filter.filter(), behind(count)));
            }
            Step::ReadPage { reader, limit } => {
                let count = readers.len().max(1);
                if let Some(reader) = readers.get_mut(reader % count) {
                    reader.step(&fixture, limit).await;
                }
            }
        }
    }
    end(&fixture, readers).await;
    while let Some(followed) = followers.join_next().await {
        followed.expect("a follower receives the right events");
    }
}

/// Lets every reader reach the head: the store works again, and the head is published every
/// second, as in production.
async fn end(fixture: &Fixture, readers: Vec<Reader>) {
    fixture.log.fail(0);
    for mut reader in readers {
        let mut tries = 0;
        while !reader.step(fixture, 3).await {
            fixture.hint();
            tokio::time::sleep(Duration::from_secs(1)).await;
            tries += 1;
            assert!(tries < 2_000, "it does not reach the end");
        }
    }
    fixture.hint();
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
