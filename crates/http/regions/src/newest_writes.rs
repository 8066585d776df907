//! The newest positions of the writes that this node has forwarded.

use std::{convert::Infallible, sync::Arc, time::Duration};

use domain::{QuotaHolder, Seq};
use parking_lot::Mutex;
use quick_cache::sync::Cache;
use tokio::time::Instant;

/// The time for which a write is remembered.
const REMEMBERED_FOR: Duration = Duration::from_mins(1);
/// The maximum number of principals.
const MAX_PRINCIPALS: usize = 100_000;

/// The newest position of the writes that this node has forwarded for each principal. A client that
/// sends no position nevertheless reads what it wrote through the same node.
pub(super) struct NewestWrites(Cache<QuotaHolder, Arc<Mutex<(Seq, Instant)>>>);

impl Default for NewestWrites {
    fn default() -> Self {
        Self(Cache::new(MAX_PRINCIPALS))
    }
}

impl NewestWrites {
    /// Records the position of a write.
    pub(super) fn record(&self, principal: &QuotaHolder, position: Seq) {
        let new = || Ok::<_, Infallible>(Arc::new(Mutex::new((position, Instant::now()))));
        let Ok(newest) = self.0.get_or_insert_with(principal, new);
        // Of concurrent writes, the newest is remembered.
        let mut newest = newest.lock();
        *newest = (newest.0.max(position), Instant::now());
    }

    /// Returns the position of the newest write of a principal within the last minute.
    pub(super) fn find(&self, principal: &QuotaHolder) -> Option<Seq> {
        let (position, at) = *self.0.get(principal)?.lock();
        (at.elapsed() < REMEMBERED_FOR).then_some(position)
    }
}
