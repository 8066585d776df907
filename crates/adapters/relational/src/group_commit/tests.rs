//! The writer against a store that does as it is told.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex},
};

use contract::samples;
use ports::{ExchangeOutcome, ExchangeTarget};
use tokio::{sync::Semaphore, time::Instant};

use super::*;

/// What the store does with an attempt.
enum Attempt {
    Commits,
    Fails(RepositoryError),
    GetsNoAnswer,
    Panics,
}

/// Attempts come from a list and go on as permits allow; each call is noted down.
struct ScriptedStore {
    attempts: VecDeque<Attempt>,
    permits: Arc<Semaphore>,
    calls: Calls,
}

/// The number of items of each call, and the heads that it was told to look behind.
type Calls = Arc<Mutex<Vec<(usize, Option<HeadsBefore>)>>>;

#[async_trait]
impl BatchStore for ScriptedStore {
    async fn commit(
        &mut self,
        items: Arc<[Item]>,
        doubt: Option<&HeadsBefore>,
    ) -> Result<Outcomes, BatchError> {
        self.calls
            .lock()
            .unwrap()
            .push((items.len(), doubt.cloned()));
        self.permits.acquire().await.unwrap().forget();
        match self.attempts.pop_front().unwrap_or(Attempt::Commits) {
            Attempt::Commits => Ok(items.iter().map(|_| Ok(done())).collect()),
            Attempt::Fails(error) => Err(error.into()),
            Attempt::Panics => panic!("as the script says"),
            Attempt::GetsNoAnswer => Err(BatchError::Unknown {
                heads: heads(self.calls.lock().unwrap().len()),
                source: unavailable("cut"),
            }),
        }
    }
}

/// Heads by which the attempt with this number is recognised.
fn heads(attempt: usize) -> HeadsBefore {
    let seq = Seq(i64::try_from(attempt).unwrap());
    [(samples::tenant(), seq)].into()
}

fn done() -> Outcome {
    Outcome::Exchange(ExchangeOutcome::Busy)
}

fn corrupt() -> RepositoryError {
    RepositoryError::Corrupt {
        what: "a statement".to_owned(),
        source: "a bad character".into(),
    }
}

/// An item of a conversation of its own.
fn item(number: u32) -> Item {
    let agent = samples::agent(1);
    let conversation = samples::conversation(number, agent.id);
    let target = ExchangeTarget::New(conversation);
    Item::Exchange(Box::new(samples::exchange(number, &agent, target)))
}

struct Bench {
    group: GroupCommit,
    permits: Arc<Semaphore>,
    calls: Calls,
    tasks: TaskTracker,
}

impl Bench {
    fn start(permits: usize, attempts: impl IntoIterator<Item = Attempt>) -> Self {
        let permits = Arc::new(Semaphore::new(permits));
        let calls = Calls::default();
        let store = ScriptedStore {
            attempts: attempts.into_iter().collect(),
            permits: Arc::clone(&permits),
            calls: Arc::clone(&calls),
        };
        let tasks = TaskTracker::new();
        Self {
            group: GroupCommit::start(store, Patience::default(), &tasks, &Handle::current()),
            permits,
            calls,
            tasks,
        }
    }

    fn submit(&self, item: Item) -> tokio::task::JoinHandle<Result<Outcome, RepositoryError>> {
        let group = self.group.clone();
        self.tasks.spawn(async move { group.submit(item).await })
    }

    /// Waits until the store has been called so often.
    async fn called(&self, times: usize) {
        while self.calls.lock().unwrap().len() < times {
            tokio::task::yield_now().await;
        }
    }

    fn sizes(&self) -> Vec<usize> {
        let calls = self.calls.lock().unwrap();
        calls.iter().map(|(size, _)| *size).collect()
    }
}

#[tokio::test(start_paused = true)]
async fn an_idle_writer_writes_at_once_and_a_busy_one_in_groups() {
    let bench = Bench::start(0, []);
    let first = bench.submit(item(1));
    bench.called(1).await;
    let others: Vec<_> = (2..=4).map(|number| bench.submit(item(number))).collect();
    tokio::task::yield_now().await;
    bench.permits.add_permits(2);
    assert_eq!(first.await.unwrap().unwrap(), done());
    for other in others {
        assert_eq!(other.await.unwrap().unwrap(), done());
    }
    assert_eq!(bench.sizes(), [1, 3]);
}

#[tokio::test(start_paused = true)]
async fn items_of_a_batch_that_failed_run_singly() {
    let attempts = [
        Attempt::Commits,
        Attempt::Fails(corrupt()),
        Attempt::Commits,
        Attempt::Fails(corrupt()),
    ];
    let bench = Bench::start(0, attempts);
    let first = bench.submit(item(1));
    bench.called(1).await;
    let (good, bad) = (bench.submit(item(2)), bench.submit(item(3)));
    tokio::task::yield_now().await;
    bench.permits.add_permits(4);
    assert_eq!(first.await.unwrap().unwrap(), done());
    assert_eq!(good.await.unwrap().unwrap(), done());
    assert!(matches!(
        bad.await.unwrap(),
        Err(RepositoryError::Corrupt { .. })
    ));
    assert_eq!(bench.sizes(), [1, 2, 1, 1]);
}

#[tokio::test(start_paused = true)]
async fn a_store_that_is_away_is_not_asked_for_each_item() {
    let bench = Bench::start(0, [Attempt::Commits, Attempt::Fails(unavailable("away"))]);
    let first = bench.submit(item(1));
    bench.called(1).await;
    let others = [bench.submit(item(2)), bench.submit(item(3))];
    tokio::task::yield_now().await;
    bench.permits.add_permits(2);
    assert!(first.await.unwrap().is_ok());
    for other in others {
        let error = other.await.unwrap().unwrap_err();
        assert_eq!(
            ports::error::chain(&error),
            "the store is unavailable: away"
        );
    }
    assert_eq!(bench.sizes(), [1, 2]);
}

#[tokio::test(start_paused = true)]
async fn a_commit_without_an_answer_is_repeated_behind_the_first_heads() {
    let attempts = [
        Attempt::GetsNoAnswer,
        Attempt::Fails(unavailable("still away")),
        Attempt::GetsNoAnswer,
        Attempt::Commits,
    ];
    let bench = Bench::start(4, attempts);
    assert_eq!(bench.group.submit(item(1)).await.unwrap(), done());
    let doubts: Vec<_> = bench
        .calls
        .lock()
        .unwrap()
        .iter()
        .map(|(_, doubt)| doubt.clone())
        .collect();
    assert_eq!(
        doubts,
        [None, Some(heads(1)), Some(heads(1)), Some(heads(1))]
    );
}

#[tokio::test(start_paused = true)]
async fn items_that_run_singly_after_a_doubt_are_still_in_doubt() {
    let attempts = [
        Attempt::Commits,
        Attempt::GetsNoAnswer,
        Attempt::Fails(corrupt()),
    ];
    let bench = Bench::start(0, attempts);
    let first = bench.submit(item(1));
    bench.called(1).await;
    let others = [bench.submit(item(2)), bench.submit(item(3))];
    tokio::task::yield_now().await;
    bench.permits.add_permits(5);
    assert!(first.await.unwrap().is_ok());
    for other in others {
        assert!(other.await.unwrap().is_ok());
    }
    let calls = bench.calls.lock().unwrap().clone();
    assert_eq!(calls[2], (2, Some(heads(2))));
    assert_eq!(calls[3..], [(1, Some(heads(2))), (1, Some(heads(2)))]);
}

#[tokio::test(start_paused = true)]
async fn a_doubt_ends_after_some_seconds() {
    let attempts = std::iter::repeat_with(|| Attempt::GetsNoAnswer).take(1_000);
    let bench = Bench::start(1_000, attempts);
    let begun = Instant::now();
    let error = bench.group.submit(item(1)).await.unwrap_err();
    assert!(error.is_retryable());
    assert!(
        begun.elapsed() <= Patience::default().in_doubt,
        "{:?}",
        begun.elapsed()
    );
}

#[tokio::test(start_paused = true)]
async fn an_item_that_waits_too_long_is_withdrawn() {
    let bench = Bench::start(0, []);
    let running = bench.submit(item(1));
    bench.called(1).await;
    let begun = Instant::now();
    let error = bench.group.submit(item(2)).await.unwrap_err();
    assert!(error.is_retryable());
    assert_eq!(begun.elapsed(), Patience::default().queued);
    bench.permits.add_permits(9);
    assert!(running.await.unwrap().is_ok());
    assert!(bench.group.submit(item(3)).await.is_ok());
    assert_eq!(bench.sizes(), [1, 1]);
}

#[tokio::test(start_paused = true)]
async fn what_waits_behind_a_store_that_hangs_is_given_up_with_it() {
    let bench = Bench::start(0, [Attempt::Fails(unavailable("no answer"))]);
    let hanging = bench.submit(item(1));
    bench.called(1).await;
    let waiting = bench.submit(item(2));
    tokio::time::sleep(Duration::from_secs(3)).await;
    bench.permits.add_permits(9);
    assert!(hanging.await.unwrap().unwrap_err().is_retryable());
    assert!(waiting.await.unwrap().unwrap_err().is_retryable());
    assert_eq!(bench.sizes(), [1]);
}

#[tokio::test(start_paused = true)]
async fn a_store_that_goes_away_meanwhile_is_not_asked_for_the_other_items() {
    let attempts = [
        Attempt::Commits,
        Attempt::Fails(corrupt()),
        Attempt::Fails(unavailable("away")),
    ];
    let bench = Bench::start(0, attempts);
    let first = bench.submit(item(1));
    bench.called(1).await;
    let others = [2, 3, 4].map(|number| bench.submit(item(number)));
    tokio::task::yield_now().await;
    bench.permits.add_permits(9);
    assert!(first.await.unwrap().is_ok());
    for other in others {
        assert!(other.await.unwrap().unwrap_err().is_retryable());
    }
    assert_eq!(bench.sizes(), [1, 3, 1]);
}

#[tokio::test(start_paused = true)]
async fn a_writer_that_is_closed_answers_what_it_was_handed_and_ends() {
    let bench = Bench::start(0, []);
    let running = bench.submit(item(1));
    bench.called(1).await;
    let queued = bench.submit(item(2));
    tokio::task::yield_now().await;
    assert!(bench.group.check().is_ok());
    let mut closing = Box::pin(bench.group.close());
    tokio::select! {
        biased;
        () = &mut closing => panic!("an item is still being written"),
        () = std::future::ready(()) => {}
    }
    bench.permits.add_permits(2);
    closing.await;
    assert_eq!(bench.sizes(), [1, 1]);
    assert!(running.await.unwrap().is_ok());
    assert!(queued.await.unwrap().is_ok());
    assert!(bench.group.check().unwrap_err().is_retryable());
    assert!(
        bench
            .group
            .submit(item(3))
            .await
            .unwrap_err()
            .is_retryable()
    );
}

#[tokio::test(start_paused = true)]
async fn a_writer_that_has_died_is_told() {
    let bench = Bench::start(1, [Attempt::Panics]);
    assert!(
        bench
            .group
            .submit(item(1))
            .await
            .unwrap_err()
            .is_retryable()
    );
    bench.group.close().await;
    assert!(bench.group.check().unwrap_err().is_retryable());
}
