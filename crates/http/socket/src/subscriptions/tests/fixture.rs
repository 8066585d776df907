//! A socket's subscriptions to an event log in memory.

use std::{cell::RefCell, sync::Arc};

use application::{
    live_turns::RemoteTurnInbox,
    realtime::{LogReader, LogTails, Tail},
};
use domain::Seq;
use ports::{EventLog, EventVisibility};
use tokio::runtime::Handle;
use tokio_util::{
    sync::{CancellationToken, DropGuard},
    task::TaskTracker,
};

use super::{
    super::*,
    log::{MemoryLog, NewEvent, everything, tenant},
};
use crate::{frames::ResyncReason, page_reader::read_page};

/// A notice that the client received.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Sent {
    Event(Vec<Channel>, i64),
    CaughtUp(Channel, i64),
    Resync(Channel, i64, i64, ResyncReason),
    Moved(i64),
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
            Notice::Moved(event) => Self::Moved(event.seq().0),
            Notice::Deleted(channel) => Self::Deleted(channel),
        }
    }
}

/// A socket's subscriptions, and the notices that its client received.
pub(super) struct Fixture {
    log: Arc<MemoryLog>,
    tails: Arc<LogTails>,
    reader: LogReader,
    pub(super) tail: Arc<Tail>,
    pub(super) subscriptions: Subscriptions,
    pub(super) visibility: EventVisibility,
    sent: RefCell<Vec<Sent>>,
    _stop: DropGuard,
}

impl Fixture {
    /// Creates subscriptions to a log that already holds these events.
    pub(super) async fn after(new_events: impl IntoIterator<Item = NewEvent>) -> Self {
        let log = Arc::new(MemoryLog::of(new_events));
        let stop = CancellationToken::new();
        let events: Arc<dyn EventLog> = Arc::clone(&log) as _;
        let tails = LogTails::new(
            Arc::clone(&events),
            TaskTracker::new(),
            Handle::current(),
            stop.clone(),
        );
        let tails = Arc::new(tails);
        let tail = tails.tail(&tenant()).await.unwrap();
        Self {
            reader: LogReader::new(Arc::clone(&tails), events),
            log,
            tails,
            tail,
            subscriptions: Subscriptions::new(ChannelReplies {
                tenant: tenant(),
                live: Arc::default(),
                remote: Arc::new(RemoteTurnInbox::new(Arc::default())),
            }),
            visibility: everything(),
            sent: RefCell::default(),
            _stop: stop.drop_guard(),
        }
    }

    /// The head of the log.
    pub(super) fn head(&self) -> Seq {
        self.log.bounds().1
    }

    /// Appends events to the log, and waits until the tail has read them.
    pub(super) async fn append(&self, new_events: impl IntoIterator<Item = NewEvent>) {
        self.log.append(new_events);
        let head = self.head();
        self.tails.report_head(&tenant(), head);
        let mut positions = self.tail.positions();
        let read = positions.wait_for(|position| *position >= head);
        read.await.unwrap();
    }

    /// Removes the oldest events.
    pub(super) fn trim(&self, count: usize) {
        self.log.trim(count);
    }

    /// Subscribes to a channel, from now on or from a position.
    pub(super) fn open(&mut self, channel: Channel, since: Option<i64>) -> SubscriptionStart {
        let head = self.tail.position();
        self.open_at(channel, since, head)
    }

    /// Subscribes to a channel with a command that started when the head of the log was `head`.
    pub(super) fn open_at(
        &mut self,
        channel: Channel,
        since: Option<i64>,
        head: Seq,
    ) -> SubscriptionStart {
        let requested = since.map(|since| ReplayRequest {
            since: Seq(since),
            availability: ReplayAvailability::Complete,
        });
        self.subscriptions.open(channel, None, requested, head)
    }

    /// Sends at most `room` notices of new events.
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

    /// Sends at most `room` notices of replays.
    pub(super) fn send_replayed(&mut self, room: usize) {
        let before = self.sent.borrow().len();
        let has_room = || self.sent.borrow().len() - before < room;
        let sent = self
            .subscriptions
            .send_replayed(&self.visibility, has_room, &mut |it| {
                self.sent.borrow_mut().push(it.into());
                Ok(())
            });
        sent.unwrap();
    }

    /// Reads the requested page.
    pub(super) async fn page(&self, request: &PageRequest) -> Page {
        let page = read_page(&self.reader, &self.tail, &self.visibility, request).await;
        page.expect("the log can be read")
    }

    pub(super) fn accept_page(&mut self, request: PageRequest, page: Page) {
        let sent = &self.sent;
        let taken = self.subscriptions.accept_page(request, page, &mut |it| {
            sent.borrow_mut().push(it.into());
            Ok(())
        });
        taken.unwrap();
    }

    /// Sends everything that is available.
    pub(super) async fn send_all(&mut self) {
        loop {
            self.send_replayed(usize::MAX);
            self.send_live(usize::MAX);
            let Some(request) = self.subscriptions.next_request() else {
                return;
            };
            let page = self.page(&request).await;
            self.accept_page(request, page);
        }
    }

    /// The notices since the last call.
    pub(super) fn received(&mut self) -> Vec<Sent> {
        self.sent.take()
    }

    /// The positions of a channel's events since the last call.
    pub(super) fn received_by(&mut self, channel: Channel) -> Vec<i64> {
        positions_of(&self.received(), channel)
    }
}

/// The positions of a channel's events.
pub(super) fn positions_of(sent: &[Sent], channel: Channel) -> Vec<i64> {
    let positions = sent.iter().filter_map(|it| match it {
        Sent::Event(channels, seq) if channels.contains(&channel) => Some(*seq),
        _ => None,
    });
    positions.collect()
}
