//! The end of one tenant's log, as far as this process has read it.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use domain::{Seq, TenantId, sizes::PAGE_BYTES};
use parking_lot::RwLock;
use ports::{EventLog, EventQuery, RepositoryError};
use tokio::sync::{OnceCell, watch};
use writes::ShownEvents;

use super::{PageSize, SerializedEvent, recent_events::RecentEvents};

/// The maximum number of events that one call reads.
const PAGE_EVENTS: usize = 500;

/// The end of one tenant's log, as far as this process has read it: its newest events, shared by
/// all readers. The log is read for as long as a reader holds the tail.
pub struct Tail {
    tenant: TenantId,
    recent: RwLock<RecentEvents>,
    /// The position up to which the log was read.
    position: watch::Sender<Seq>,
    /// The newest position that the log is known to have reached.
    head: watch::Sender<Seq>,
    /// True if a reader has requested the tail since the last check.
    is_requested: AtomicBool,
    /// Set once the log is being read.
    pub(super) started: OnceCell<()>,
}

/// Some events of a tail.
#[derive(Debug, Clone, PartialEq)]
pub struct TailEvents {
    /// The matching events, oldest first.
    pub events: Vec<Arc<SerializedEvent>>,
    /// The position from which to continue.
    pub next: Seq,
}

impl Tail {
    pub(super) fn new(tenant: TenantId) -> Self {
        Self {
            tenant,
            recent: RwLock::new(RecentEvents::beginning_at(Seq(0))),
            position: watch::Sender::new(Seq(0)),
            head: watch::Sender::new(Seq(0)),
            is_requested: AtomicBool::new(true),
            started: OnceCell::new(),
        }
    }

    /// Returns the tenant whose log it is.
    pub fn tenant(&self) -> &TenantId {
        &self.tenant
    }

    /// Returns the position up to which this process has read the log.
    pub fn position(&self) -> Seq {
        *self.position.borrow()
    }

    /// Subscribes to changes of [`Self::position`].
    pub fn positions(&self) -> watch::Receiver<Seq> {
        self.position.subscribe()
    }

    /// Reads a page of the events after `since` that `is_wanted` selects. Returns `None` if `since`
    /// is older than the tail or newer than its end: only the store can return these events. This
    /// never blocks, and `is_wanted` must not block either.
    pub fn read(
        &self,
        since: Seq,
        size: PageSize,
        is_wanted: impl Fn(&SerializedEvent) -> bool,
    ) -> Option<TailEvents> {
        let recent = self.recent.read();
        let wanted = recent.after(since)?.filter(|event| is_wanted(event));
        let mut events = Vec::new();
        let mut bytes = 0;
        for event in wanted {
            bytes += event.whole_json().len();
            if events.len() >= size.events || (bytes > size.bytes && !events.is_empty()) {
                let next = events
                    .last()
                    .map_or(since, |last: &Arc<SerializedEvent>| last.seq());
                return Some(TailEvents { events, next });
            }
            events.push(Arc::clone(event));
        }
        let next = recent.end();
        Some(TailEvents { events, next })
    }

    /// Returns whether the tail holds all events after a position.
    pub fn holds(&self, since: Seq) -> bool {
        let recent = self.recent.read();
        recent.after(since).is_some()
    }

    /// Returns the size of the events in the tail, in bytes.
    pub(super) fn bytes(&self) -> usize {
        let recent = self.recent.read();
        recent.bytes()
    }

    /// Records that a reader has requested the tail.
    pub(super) fn mark_requested(&self) {
        self.is_requested.store(true, Ordering::Relaxed);
    }

    /// Returns whether a reader has requested the tail since the last call.
    pub(super) fn take_requested(&self) -> bool {
        self.is_requested.swap(false, Ordering::Relaxed)
    }

    /// Records a position that the log has reached. A position that was not read yet is signalled
    /// again, since the last read may have failed.
    pub(super) fn report_head(&self, head: Seq) {
        if head <= self.position() {
            return;
        }
        self.head.send_modify(|known| *known = (*known).max(head));
    }

    /// Subscribes to the heads that are reported.
    pub(super) fn heads(&self) -> watch::Receiver<Seq> {
        self.head.subscribe()
    }

    /// Begins at this position, without events.
    pub(super) fn begin_at(&self, position: Seq) {
        self.update(|recent| *recent = RecentEvents::beginning_at(position));
    }

    /// Reads the log up to its reported head.
    pub(super) async fn catch_up(&self, events: &dyn EventLog) -> Result<(), RepositoryError> {
        loop {
            let since = self.position();
            if *self.head.borrow() <= since {
                return Ok(());
            }
            let query = EventQuery {
                since,
                limit: PAGE_EVENTS,
                bytes: PAGE_BYTES,
                types: Vec::new(),
                agent_id: None,
                conversation_id: None,
                visibility: None,
            };
            let page = match events.page(&self.tenant, &query, &ShownEvents).await {
                Ok(page) => page,
                Err(error) if error.is_retryable() => return Err(error),
                Err(error) => {
                    // A later attempt would fail, too. Readers that request these events get the
                    // error from the store; the others continue after them.
                    let head = *self.head.borrow();
                    self.begin_at(head);
                    return Err(error);
                }
            };
            if !page.bounds().reach(since) {
                // The events after `since` were removed, or the store holds another log. Readers
                // get this result from the store, and followers continue from its end.
                self.begin_at(page.head);
                return Ok(());
            }
            if page.next_since <= since {
                return Ok(());
            }
            let events = page.events.into_iter().map(SerializedEvent::from).collect();
            self.update(|recent| recent.extend(events, page.next_since));
        }
    }

    /// Changes the events, then publishes its end to the subscribers.
    fn update(&self, change: impl FnOnce(&mut RecentEvents)) {
        let mut recent = self.recent.write();
        change(&mut recent);
        let end = recent.end();
        drop(recent);
        self.position.send_replace(end);
    }
}
