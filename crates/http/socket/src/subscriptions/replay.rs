//! Replays: the past events that a subscription sends before it reaches the present.

use std::{collections::VecDeque, sync::Arc};

use application::realtime::SerializedEvent;
use domain::Seq;
use ports::EventVisibility;

use super::{
    Notice, NoticeSink, Page, PageRequest, ReplayAvailability, ReplayRequest, Subscription,
    Subscriptions, next_key,
};
use crate::SendQueueFull;

/// The progress of a replay.
#[derive(Debug, Default)]
pub(super) struct Replay {
    /// Nothing is read if too many events match, or until the log of this region has reached the
    /// client's cursor.
    availability: ReplayAvailability,
    /// True if the client requested the replay and receives a notice of its end.
    is_requested: bool,
    is_being_read: bool,
    page: VecDeque<Arc<SerializedEvent>>,
    /// The position after the page, and whether that is the present.
    after: Option<(Seq, bool)>,
}

impl Replay {
    /// Creates a replay that the client requested.
    pub(super) fn of(requested: ReplayRequest) -> Self {
        Self {
            availability: requested.availability,
            is_requested: true,
            ..Self::default()
        }
    }

    /// Returns whether the next page can be read.
    fn is_idle(&self) -> bool {
        let is_awaited = self.availability == ReplayAvailability::Awaited;
        !self.is_being_read && self.after.is_none() && !is_awaited
    }
}

impl Subscriptions {
    /// Returns whether a replay is in progress.
    pub(crate) fn is_behind(&self) -> bool {
        self.all.iter().any(|it| !it.is_live())
    }

    /// Starts the replays that waited until the log of this region has reached `position`.
    pub(crate) fn start_awaited(&mut self, position: Seq) {
        let reached = self.all.iter_mut().filter(|it| it.next <= position);
        for replay in reached.filter_map(|it| it.replay.as_mut()) {
            if replay.availability == ReplayAvailability::Awaited {
                replay.availability = ReplayAvailability::Complete;
            }
        }
    }

    /// Returns the next page request, if any, and marks it as running.
    pub(crate) fn next_request(&mut self) -> Option<PageRequest> {
        let is_idle = |it: &Subscription| it.replay.as_deref().is_some_and(Replay::is_idle);
        let index = self.all.iter().position(is_idle)?;
        // Replays take turns.
        let mut it = self.all.remove(index);
        let (key, channel, since) = (it.key, it.channel, it.next);
        let request = it.replay.as_mut().map(|replay| {
            replay.is_being_read = true;
            PageRequest {
                key,
                channel,
                since,
                is_too_long: replay.availability == ReplayAvailability::TooLong,
            }
        });
        self.all.push(it);
        request
    }

    /// Drops all pages, including those that are being read, and reads them again: the rights of
    /// the client have changed.
    pub(crate) fn drop_pages(&mut self) {
        for it in &mut self.all {
            let Some(replay) = &mut it.replay else {
                continue;
            };
            replay.page.clear();
            replay.after = None;
            replay.is_being_read = false;
            // The page that is being read belongs to the old key.
            it.key = next_key(&mut self.keys);
        }
    }

    /// Accepts a page.
    pub(crate) fn accept_page(
        &mut self,
        request: PageRequest,
        page: Page,
        send: NoticeSink<'_>,
    ) -> Result<(), SendQueueFull> {
        let is_it = |it: &Subscription| it.key == request.key;
        // The subscription may have ended or restarted meanwhile.
        let Some(index) = self.all.iter().position(is_it) else {
            return Ok(());
        };
        let it = &mut self.all[index];
        let Some(replay) = &mut it.replay else {
            return Ok(());
        };
        replay.is_being_read = false;
        match page {
            // Since it is no longer being read, it is requested again.
            Page::Failed => {}
            Page::Events {
                events,
                next,
                at_tail,
            } => {
                replay.page = events.into();
                replay.after = Some((next, at_tail));
            }
            // The client did not subscribe explicitly, and the gap may contain the end of the turn.
            Page::Gap { .. } if !it.is_named => {
                self.all.remove(index);
            }
            Page::Gap {
                first,
                head,
                reason,
            } => {
                it.replay = None;
                it.next = head;
                let channel = it.channel;
                send(Notice::Resync {
                    channel,
                    first,
                    head,
                    reason,
                })?;
            }
        }
        Ok(())
    }

    /// Sends the events of pages while `has_room`.
    pub(crate) fn send_replayed(
        &mut self,
        visibility: &EventVisibility,
        has_room: impl Fn() -> bool,
        send: NoticeSink<'_>,
    ) -> Result<(), SendQueueFull> {
        let mut index = 0;
        while let Some(it) = self.all.get_mut(index) {
            let key = it.key;
            let read = it.replay.as_mut().filter(|replay| replay.after.is_some());
            let Some(replay) = read else {
                index += 1;
                continue;
            };
            if !has_room() {
                return Ok(());
            }
            let Some(event) = replay.page.pop_front() else {
                it.end_page(send)?;
                continue;
            };
            it.next = event.seq();
            if event.logged.moved.is_some() {
                send(Notice::Moved(&event))?;
            }
            send(Notice::Event(&[it.channel], &event))?;
            self.end_with(&event, visibility, |other| other.key == key, send)?;
        }
        Ok(())
    }
}

impl Subscription {
    /// Continues after a page that was sent.
    fn end_page(&mut self, send: NoticeSink<'_>) -> Result<(), SendQueueFull> {
        let Some(replay) = &mut self.replay else {
            return Ok(());
        };
        let Some((next, at_tail)) = replay.after.take() else {
            return Ok(());
        };
        self.next = next;
        // New events follow from `next`. If the tail no longer has the next one, another replay begins.
        if at_tail {
            let is_requested = replay.is_requested;
            self.replay = None;
            if is_requested {
                send(Notice::CaughtUp(self.channel, next))?;
            }
        }
        Ok(())
    }
}
