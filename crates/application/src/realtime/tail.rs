//! The end of one tenant's log, as far as this process has read it.

use std::sync::{
    Arc, PoisonError, RwLock,
    atomic::{AtomicBool, Ordering},
};

use domain::{Seq, TenantId, sizes::PAGE_BYTES};
use ports::{EventLog, EventQuery, RepositoryError};
use tokio::sync::{OnceCell, watch};

use super::{PageSize, SerializedEvent, ring::Ring};

/// Events read of the log in one call.
const PAGE_EVENTS: usize = 500;

/// The end of one tenant's log, as far as this process has read it: its newest events, shared by
/// all who listen. Whoever holds it keeps it being read.
pub struct Tail {
    tenant: TenantId,
    ring: RwLock<Ring>,
    /// Up to where the log was read.
    position: watch::Sender<Seq>,
    /// Up to where the log is known to go.
    noted: watch::Sender<Seq>,
    /// Whether somebody has asked for it lately.
    touched: AtomicBool,
    /// Set when the log is being read.
    pub(super) started: OnceCell<()>,
}

/// Some events of a tail.
#[derive(Debug, Clone, PartialEq)]
pub struct TailEvents {
    /// Those that were asked for, oldest first.
    pub events: Vec<Arc<SerializedEvent>>,
    /// From where to read on.
    pub next: Seq,
}

impl Tail {
    pub(super) fn new(tenant: TenantId) -> Self {
        Self {
            tenant,
            ring: RwLock::new(Ring::beginning_at(Seq(0))),
            position: watch::Sender::new(Seq(0)),
            noted: watch::Sender::new(Seq(0)),
            touched: AtomicBool::new(true),
            started: OnceCell::new(),
        }
    }

    /// Whose log it is.
    pub fn tenant(&self) -> &TenantId {
        &self.tenant
    }

    /// The position up to which this process has read the log.
    pub fn position(&self) -> Seq {
        *self.position.borrow()
    }

    /// The same, for those who wait until it changes.
    pub fn positions(&self) -> watch::Receiver<Seq> {
        self.position.subscribe()
    }

    /// Reads on from `since`: a page of events that are wanted. `None` when the tail does not
    /// reach back so far, or not yet so far forward: the store knows what is there. Waits for
    /// nothing, and `is_wanted` must not either.
    pub fn read(
        &self,
        since: Seq,
        size: PageSize,
        is_wanted: impl Fn(&SerializedEvent) -> bool,
    ) -> Option<TailEvents> {
        let ring = self.ring.read().unwrap_or_else(PoisonError::into_inner);
        let wanted = ring.after(since)?.filter(|event| is_wanted(event));
        let mut events = Vec::new();
        let mut bytes = 0;
        for event in wanted {
            bytes += event.json.len();
            if events.len() >= size.events || (bytes > size.bytes && !events.is_empty()) {
                let next = events
                    .last()
                    .map_or(since, |last: &Arc<SerializedEvent>| last.seq());
                return Some(TailEvents { events, next });
            }
            events.push(Arc::clone(event));
        }
        let next = ring.end();
        Some(TailEvents { events, next })
    }

    /// Returns whether it holds all events after a position.
    pub fn holds(&self, since: Seq) -> bool {
        let ring = self.ring.read().unwrap_or_else(PoisonError::into_inner);
        ring.after(since).is_some()
    }

    /// Bytes of the events that it holds.
    pub(super) fn bytes(&self) -> usize {
        let ring = self.ring.read().unwrap_or_else(PoisonError::into_inner);
        ring.bytes()
    }

    /// Notes that somebody has asked for it.
    pub(super) fn touch(&self) {
        self.touched.store(true, Ordering::Relaxed);
    }

    /// Whether nobody has asked for it since the last time this was called.
    pub(super) fn rested(&self) -> bool {
        !self.touched.swap(false, Ordering::Relaxed)
    }

    /// Notes a position that the log has reached. What has not been read is pointed to again: the
    /// last try may have failed.
    pub(super) fn note_head(&self, head: Seq) {
        if head <= self.position() {
            return;
        }
        self.noted.send_modify(|noted| *noted = (*noted).max(head));
    }

    /// Positions to read up to, for the one who reads.
    pub(super) fn noted(&self) -> watch::Receiver<Seq> {
        self.noted.subscribe()
    }

    /// Begins, at the log's end.
    pub(super) fn begin_at(&self, position: Seq) {
        self.update(|ring| *ring = Ring::beginning_at(position));
    }

    /// Reads the log up to where it is known to go.
    pub(super) async fn catch_up(&self, events: &dyn EventLog) -> Result<(), RepositoryError> {
        loop {
            let since = self.position();
            if *self.noted.borrow() <= since {
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
            let page = match events.page(&self.tenant, &query).await {
                Ok(page) => page,
                Err(error) if error.is_retryable() => return Err(error),
                Err(error) => {
                    // What cannot be read now never can. Readers meet it themselves, those who
                    // need it; the others go on.
                    let noted = *self.noted.borrow();
                    self.begin_at(noted);
                    return Err(error);
                }
            };
            if !page.bounds().reach(since) {
                // What follows was removed, or the log is another one: readers are told by the
                // store, and who listens goes on from its end.
                self.begin_at(page.head);
                return Ok(());
            }
            if page.next_since <= since {
                return Ok(());
            }
            let fed = page.events.into_iter().map(SerializedEvent::from).collect();
            self.update(|ring| ring.extend(fed, page.next_since));
        }
    }

    /// Changes the ring, then tells who waits how far it goes.
    fn update(&self, change: impl FnOnce(&mut Ring)) {
        let mut ring = self.ring.write().unwrap_or_else(PoisonError::into_inner);
        change(&mut ring);
        let end = ring.end();
        drop(ring);
        self.position.send_replace(end);
    }
}
