//! A socket's subscriptions to a log in memory.

use std::{cell::RefCell, sync::Arc};

use application::realtime::{Feed, LogReader, Tail};
use domain::Seq;
use ports::{EventLog, EventVisibility};
use tokio::runtime::Handle;
use tokio_util::{
    sync::{CancellationToken, DropGuard},
    task::TaskTracker,
};

use super::{
    super::*,
    log::{MemoryLog, Sample, everything, tenant},
};
use crate::socket::{frames::ResyncReason, reading::read};

/// What a client was sent.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Sent {
    Event(Vec<Channel>, i64),
    CaughtUp(Channel, i64),
    Resync(Channel, i64, i64, ResyncReason),
    Deleted(Channel),
}

impl From<Notice<'_>> for Sent {
    fn from(notice: Notice<'_>) -> Self {
        match notice {
            Notice::Event(channels, event) => Self::Event(channels.to_vec(), event.seq().0),
            Notice::CaughtUp(channel, seq) => Self::CaughtUp(channel, seq.0),
            Notice::Resync {
                channel,
                first,
                head,
                reason,
            } => Self::Resync(channel, first.0, head.0, reason),
            Notice::Deleted(channel) => Self::Deleted(channel),
        }
    }
}

/// A socket's subscriptions, and what its client was sent.
pub(super) struct World {
    log: Arc<MemoryLog>,
    feed: Arc<Feed>,
    reader: LogReader,
    pub(super) tail: Arc<Tail>,
    pub(super) subscriptions: Subscriptions,
    pub(super) visibility: EventVisibility,
    sent: RefCell<Vec<Sent>>,
    _stop: DropGuard,
}

impl World {
    /// Over a log that holds so much when the first one listens.
    pub(super) async fn after(samples: impl IntoIterator<Item = Sample>) -> Self {
        let log = Arc::new(MemoryLog::of(samples));
        let stop = CancellationToken::new();
        let events: Arc<dyn EventLog> = Arc::clone(&log) as _;
        let feed = Feed::new(
            Arc::clone(&events),
            TaskTracker::new(),
            Handle::current(),
            stop.clone(),
        );
        let feed = Arc::new(feed);
        let tail = feed.tail(&tenant()).await.unwrap();
        Self {
            reader: LogReader::new(Arc::clone(&feed), events),
            log,
            feed,
            tail,
            subscriptions: Subscriptions::default(),
            visibility: everything(),
            sent: RefCell::default(),
            _stop: stop.drop_guard(),
        }
    }

    /// Where the log stands.
    pub(super) fn head(&self) -> Seq {
        self.log.seen().1
    }

    /// Adds to the log, and waits until that was read.
    pub(super) async fn append(&self, samples: impl IntoIterator<Item = Sample>) {
        self.log.append(samples);
        let head = self.head();
        self.feed.note_head(&tenant(), head);
        let mut positions = self.tail.positions();
        let read = positions.wait_for(|position| *position >= head);
        read.await.unwrap();
    }

    /// Removes the oldest.
    pub(super) fn trim(&self, count: usize) {
        self.log.trim(count);
    }

    /// Follows a channel from now on, or from a position on.
    pub(super) fn open(&mut self, channel: Channel, since: Option<i64>) -> Opening {
        let head = self.tail.position();
        self.open_at(channel, since, head)
    }

    /// The same, of a command that began when the log stood at `head`.
    pub(super) fn open_at(&mut self, channel: Channel, since: Option<i64>, head: Seq) -> Opening {
        let past = since.map(|since| Past {
            since: Seq(since),
            coverage: Coverage::Whole,
        });
        self.subscriptions.open(channel, None, past, head)
    }

    /// Sends so many notices of the present.
    pub(super) fn send_live(&mut self, room: usize) {
        let before = self.sent.borrow().len();
        let has_room = || self.sent.borrow().len() - before < room;
        let sent =
            self.subscriptions
                .send_live(&self.tail, &self.visibility, has_room, &mut |it| {
                    self.sent.borrow_mut().push(it.into());
                    Ok(())
                });
        sent.unwrap();
    }

    /// Sends so many notices of the past.
    pub(super) fn send_replayed(&mut self, room: usize) {
        let before = self.sent.borrow().len();
        let has_room = || self.sent.borrow().len() - before < room;
        let sent = self.subscriptions.send_replayed(has_room, &mut |it| {
            self.sent.borrow_mut().push(it.into());
            Ok(())
        });
        sent.unwrap();
    }

    /// Reads what is asked for.
    pub(super) async fn page(&self, request: &PageRequest) -> Page {
        let page = read(&self.reader, &self.tail, &self.visibility, request).await;
        page.expect("the log can be read")
    }

    pub(super) fn take_in(&mut self, request: PageRequest, page: Page) {
        let sent = &self.sent;
        let taken = self.subscriptions.take_in(request, page, &mut |it| {
            sent.borrow_mut().push(it.into());
            Ok(())
        });
        taken.unwrap();
    }

    /// Sends everything that there is to send.
    pub(super) async fn settle(&mut self) {
        loop {
            self.send_replayed(usize::MAX);
            self.send_live(usize::MAX);
            let Some(request) = self.subscriptions.next_request() else {
                return;
            };
            let page = self.page(&request).await;
            self.take_in(request, page);
        }
    }

    /// What was sent since the last time.
    pub(super) fn received(&mut self) -> Vec<Sent> {
        self.sent.take()
    }

    /// The positions of what a channel was sent since the last time.
    pub(super) fn received_by(&mut self, channel: Channel) -> Vec<i64> {
        positions_of(&self.received(), channel)
    }
}

/// The positions of what a channel was sent.
pub(super) fn positions_of(sent: &[Sent], channel: Channel) -> Vec<i64> {
    let positions = sent.iter().filter_map(|it| match it {
        Sent::Event(channels, seq) if channels.contains(&channel) => Some(*seq),
        _ => None,
    });
    positions.collect()
}
