//! A fault of ours in the task of one server is not the end of its tools.

use std::{panic::AssertUnwindSafe, time::Duration};

use futures::FutureExt as _;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

/// Does something until it is done; after a panic anew, when a pause is over.
pub(crate) async fn outlive_panics<F: Future<Output = ()>>(
    mut work: impl FnMut() -> F,
    pause: Duration,
    stop: CancellationToken,
) {
    while AssertUnwindSafe(work()).catch_unwind().await.is_err() {
        tracing::error!("what looks after a server of tools has failed, and begins anew");
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
    async fn begins_anew_after_a_panic_and_not_after_its_end() {
        let mut begun = 0;
        let work = || {
            begun += 1;
            let fails = begun < 3;
            async move {
                if fails {
                    resume_unwind(Box::new("a fault of ours"));
                }
            }
        };
        outlive_panics(work, Duration::from_mins(1), CancellationToken::new()).await;
        assert_eq!(begun, 3);
    }

    #[tokio::test(start_paused = true)]
    async fn does_not_begin_anew_once_it_is_stopped() {
        let stop = CancellationToken::new();
        stop.cancel();
        let mut begun = 0;
        let work = || {
            begun += 1;
            // A second beginning comes to its end, and is counted.
            let fails = begun < 2;
            async move {
                if fails {
                    resume_unwind(Box::new("a fault of ours"));
                }
            }
        };
        outlive_panics(work, Duration::from_mins(1), stop).await;
        assert_eq!(begun, 1);
    }
}
