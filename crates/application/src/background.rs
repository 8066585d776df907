//! The common parts of background tasks.

use std::{error::Error, panic::AssertUnwindSafe, time::Duration};

use futures::FutureExt as _;
use tokio::time::{MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;

/// Runs one round of a repeating task; returns `None` if it panics. A panic in one round must not
/// end the task, since no other task does its work.
pub(crate) async fn round<T>(work: impl Future<Output = T>) -> Option<T> {
    // Unwind-safe: each round reads its state from the store.
    AssertUnwindSafe(work).catch_unwind().await.ok()
}

/// The time after the start of a process for which tasks wait that nobody waits for: other processes that start
/// need the connections to the store more.
pub(crate) const AFTER_START: Duration = Duration::from_secs(1);

/// Runs a round at once and then every `period`, until `stop`. The error of a round is logged as
/// `failure`: the first one as a warning, those of the rounds after it at level `debug`, and the first
/// success afterwards. The next round follows at its time.
pub async fn every<Round, Failure>(
    period: Duration,
    stop: &CancellationToken,
    failure: &'static str,
    mut work: impl FnMut() -> Round,
) where
    Round: Future<Output = Result<(), Failure>>,
    Failure: Error,
{
    let mut ticks = interval(period);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut is_failing = false;
    while stop.run_until_cancelled(ticks.tick()).await.is_some() {
        let Some(result) = round(work()).await else {
            continue;
        };
        let was_failing = std::mem::replace(&mut is_failing, result.is_err());
        match result.map_err(|error| ports::error::one_line(&error)) {
            Ok(()) if was_failing => tracing::info!("recovered from: {failure}"),
            Ok(()) => {}
            Err(error) if was_failing => tracing::debug!(error, "{failure}"),
            Err(error) => tracing::warn!(error, "{failure}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use ports::RepositoryError;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_round_that_fails_or_panics_is_followed_by_the_next() {
        let (rounds, stop) = (AtomicUsize::new(0), CancellationToken::new());
        let failure = "a round failed";
        every(
            Duration::from_secs(1),
            &stop,
            failure,
            async || match rounds.fetch_add(1, Ordering::SeqCst) {
                0 => Err(RepositoryError::Unavailable("unavailable".into())),
                1 => panic!("a panic"),
                _ => {
                    stop.cancel();
                    Ok(())
                }
            },
        )
        .await;
        assert_eq!(rounds.load(Ordering::SeqCst), 3);
    }
}
