//! A feed over a log in memory, on one thread.

use std::sync::Arc;

use application::realtime::{EventFilter, Feed, LogReader, PageSize, Read, Tail};
use domain::Seq;
use ports::LoggedEvent;
use tokio::runtime::Handle;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{fake_log::FakeLog, samples::tenant};

/// A feed over a log in memory.
pub(crate) struct World {
    pub(crate) log: Arc<FakeLog>,
    pub(crate) feed: Arc<Feed>,
    pub(crate) reader: Arc<LogReader>,
    pub(crate) tasks: TaskTracker,
    pub(crate) stop: CancellationToken,
}

impl World {
    /// Creates a feed. The caller must run inside a Tokio runtime.
    pub(crate) fn new() -> Self {
        let log = Arc::new(FakeLog::new());
        let (tasks, stop) = (TaskTracker::new(), CancellationToken::new());
        let events = Arc::clone(&log);
        let feed = Feed::new(events, tasks.clone(), Handle::current(), stop.clone());
        let feed = Arc::new(feed);
        let events = Arc::clone(&log);
        let reader = Arc::new(LogReader::new(Arc::clone(&feed), events));
        Self {
            log,
            feed,
            reader,
            tasks,
            stop,
        }
    }

    pub(crate) async fn tail(&self) -> Arc<Tail> {
        self.feed.tail(&tenant()).await.expect("the log answers")
    }

    /// Appends events and publishes the new head.
    pub(crate) fn grow(&self, count: usize) {
        self.log.grow(count);
        self.hint();
    }

    pub(crate) fn hint(&self) {
        self.feed.note_head(&tenant(), self.log.head());
    }

    /// Waits until a tail has reached this position.
    pub(crate) async fn reaches(&self, tail: &Tail, position: Seq) {
        for _ in 0..10_000 {
            if tail.position() == position {
                return;
            }
            tokio::task::yield_now().await;
        }
        panic!("the tail stays at {:?}", tail.position());
    }

    /// Reads the events after a position.
    pub(crate) async fn read(&self, tail: &Tail, filter: &EventFilter, since: i64) -> Read {
        let read = self.reader.read(tail, filter, Seq(since), events(10_000));
        read.await.expect("the log answers")
    }
}

/// A page of at most this number of events, whatever their size.
pub(crate) fn events(events: usize) -> PageSize {
    PageSize {
        events,
        bytes: usize::MAX,
    }
}

/// The events that were read, as a store returns them.
pub(crate) fn logged(read: &Read) -> Vec<LoggedEvent> {
    match read {
        Read::Events { events, .. } => events.iter().map(|fed| fed.logged.clone()).collect(),
        expired @ Read::Expired { .. } => panic!("{expired:?}"),
    }
}
