//! Restarts the task of a server after a panic, so that its tools become available again.

use std::{panic::AssertUnwindSafe, time::Duration};

use futures::FutureExt as _;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

/// Runs `work` until it completes. After a panic, starts it again after a pause.
pub(crate) async fn restart_on_panic<F: Future<Output = ()>>(
    mut work: impl FnMut() -> F,
    pause: Duration,
    stop: CancellationToken,
) {
    while AssertUnwindSafe(work()).catch_unwind().await.is_err() {
        tracing::error!("MCP server task panicked; restarting");
        if stop.run_until_cancelled(sleep(pause)).await.is_none() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::panic::resume_unwind;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn restarts_after_a_panic_and_not_after_completion() {
        let mut starts = 0;
        let work = || {
            starts += 1;
            let fails = starts < 3;
            async move {
                if fails {
                    resume_unwind(Box::new("a bug"));
                }
            }
        };
        restart_on_panic(work, Duration::from_mins(1), CancellationToken::new()).await;
        assert_eq!(starts, 3);
    }

    #[tokio::test(start_paused = true)]
    async fn does_not_restart_once_it_is_stopped() {
        let stop = CancellationToken::new();
        stop.cancel();
        let mut starts = 0;
        let work = || {
            starts += 1;
            // A second start would complete, and be counted.
            let fails = starts < 2;
            async move {
                if fails {
                    resume_unwind(Box::new("a bug"));
                }
            }
        };
        restart_on_panic(work, Duration::from_mins(1), stop).await;
        assert_eq!(starts, 1);
    }
}
