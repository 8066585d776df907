//! The newest positions of the writes that this node has forwarded.

use std::time::Duration;

use domain::{QuotaHolder, Seq};
use quick_cache::sync::Cache;
use tokio::time::Instant;

/// The time for which a write is remembered.
const REMEMBERED_FOR: Duration = Duration::from_mins(1);
/// The maximum number of principals.
const MAX_PRINCIPALS: usize = 100_000;

/// The newest position of the writes that this node has forwarded for each principal. A client that
/// sends no position nevertheless reads what it wrote through the same node.
pub(super) struct NewestWrites(Cache<QuotaHolder, (Seq, Instant)>);

impl Default for NewestWrites {
    fn default() -> Self {
        Self(Cache::new(MAX_PRINCIPALS))
    }
}

impl NewestWrites {
    /// Records the position of a write.
    pub(super) fn record(&self, principal: QuotaHolder, position: Seq) {
        let newest = self
            .find(&principal)
            .map_or(position, |known| known.max(position));
        self.0.insert(principal, (newest, Instant::now()));
    }

    /// Returns the position of the newest write of a principal within the last minute.
    pub(super) fn find(&self, principal: &QuotaHolder) -> Option<Seq> {
        let (position, at) = self.0.get(principal)?;
        (at.elapsed() < REMEMBERED_FOR).then_some(position)
    }
}
