//! What tasks in the background have in common.

use std::{error::Error, panic::AssertUnwindSafe, time::Duration};

use futures::FutureExt as _;
use tokio::time::{MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;

/// One round of a task that goes round and round; none when it panics. A mistake that one round
/// meets must not keep all that follow from being made: nobody else would do their work.
pub(crate) async fn round<T>(work: impl Future<Output = T>) -> Option<T> {
    // Each round begins with what the store says, so that it does not matter where one has ended.
    AssertUnwindSafe(work).catch_unwind().await.ok()
}

/// Makes a round at once and every `period` after, until `stop`. One that fails is told in the log
/// as `failure`, and the next one comes all the same.
pub(crate) async fn every<Round, Failure>(
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
    while stop.run_until_cancelled(ticks.tick()).await.is_some() {
        if let Some(Err(error)) = round(work()).await {
            tracing::warn!(error = ports::error::chain(&error), "{failure}");
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use ports::RepositoryError;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_round_that_fails_or_panics_does_not_keep_the_next_from_being_made() {
        let (rounds, stop) = (AtomicUsize::new(0), CancellationToken::new());
        let failure = "the third is the last";
        every(
            Duration::from_secs(1),
            &stop,
            failure,
            async || match rounds.fetch_add(1, Ordering::SeqCst) {
                0 => Err(RepositoryError::Unavailable("away".into())),
                1 => panic!("a mistake"),
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
