//! The state that requests share with the task that queries the database.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Instant,
};

use domain::QuotaHolder;
use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::limiter::{
    buckets::{BucketKey, Buckets},
    rate::Nanos,
    streams::{Decisions, OpenStreams},
};

/// The rows to be queried.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    pub(crate) buckets: Vec<BucketKey>,
    pub(crate) holders: Vec<QuotaHolder>,
}

/// The state that requests share with the task that queries the database.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) buckets: Buckets,
    pub(crate) streams: OpenStreams,
    /// True while the rows decide; otherwise this node counts on its own.
    uses_rows: AtomicBool,
    queue: Mutex<Queue>,
    filled: Notify,
    started: Instant,
}

impl Shared {
    pub(crate) fn new(is_shared: bool) -> Self {
        Self {
            buckets: Buckets::default(),
            streams: OpenStreams::default(),
            uses_rows: AtomicBool::new(is_shared),
            queue: Mutex::default(),
            filled: Notify::new(),
            started: Instant::now(),
        }
    }

    pub(crate) fn now(&self) -> Nanos {
        Nanos::try_from(self.started.elapsed().as_nanos()).unwrap_or(Nanos::MAX)
    }

    pub(crate) fn is_shared(&self) -> bool {
        self.uses_rows.load(Ordering::Relaxed)
    }

    /// Lets the rows decide, or this node on its own. Returns whether that is a change.
    pub(crate) fn set_shared(&self, is_shared: bool) -> bool {
        self.uses_rows.swap(is_shared, Ordering::Relaxed) != is_shared
    }

    /// Adds rows to be queried.
    pub(crate) fn push(&self, buckets: Vec<BucketKey>, holders: Vec<QuotaHolder>) {
        if buckets.is_empty() && holders.is_empty() {
            return;
        }
        let mut queue = self.queue.lock();
        queue.buckets.extend(buckets);
        queue.holders.extend(holders);
        drop(queue);
        self.filled.notify_one();
    }

    /// Removes up to `most` rows of each kind to be queried.
    pub(crate) fn take(&self, most: usize) -> Queue {
        let mut queue = self.queue.lock();
        let buckets = queue.buckets.len().min(most);
        let holders = queue.holders.len().min(most);
        let taken = Queue {
            buckets: queue.buckets.drain(..buckets).collect(),
            holders: queue.holders.drain(..holders).collect(),
        };
        if !(queue.buckets.is_empty() && queue.holders.is_empty()) {
            self.filled.notify_one();
        }
        taken
    }

    /// Waits until there are rows to be queried.
    pub(crate) async fn filled(&self) {
        self.filled.notified().await;
    }

    /// Sends decisions about streams.
    pub(crate) fn send(self: &Arc<Self>, holder: &QuotaHolder, decisions: Decisions) {
        for (sender, is_opened) in decisions {
            let stream = is_opened.then(|| OpenStream::new(self, holder));
            let _closed_if_given_up = sender.send(stream);
        }
    }

    /// Removes idle entries.
    pub(crate) fn sweep(&self) {
        self.buckets.sweep(self.now());
        self.streams.shrink();
    }
}

/// An open stream, which is counted. Dropping it closes it.
#[derive(Debug)]
pub(crate) struct OpenStream {
    shared: Arc<Shared>,
    holder: QuotaHolder,
}

impl OpenStream {
    pub(crate) fn new(shared: &Arc<Shared>, holder: &QuotaHolder) -> Self {
        Self {
            shared: Arc::clone(shared),
            holder: holder.clone(),
        }
    }
}

impl Drop for OpenStream {
    fn drop(&mut self) {
        if self.shared.streams.close(&self.holder) {
            self.shared.push(Vec::new(), vec![self.holder.clone()]);
        }
    }
}
