//! What tasks in the background have in common.

use std::panic::AssertUnwindSafe;

use futures::FutureExt as _;

/// One round of a task that goes round and round; none when it panics. A mistake that one round
/// meets must not keep all that follow from being made: nobody else would do their work.
pub(crate) async fn round<T>(work: impl Future<Output = T>) -> Option<T> {
    // Each round begins with what the store says, so that it does not matter where one has ended.
    AssertUnwindSafe(work).catch_unwind().await.ok()
}
