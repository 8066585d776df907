//! The past: what a channel is sent before it has come to the present.

use std::{collections::VecDeque, sync::Arc};

use application::realtime::FedEvent;
use domain::Seq;

use super::{
    Coverage, Notice, NoticeSink, Page, PageRequest, Past, Subscription, Subscriptions, next_key,
};
use crate::socket::Overfull;

/// How far a channel has been sent of the past.
#[derive(Debug, Default)]
pub(super) struct Replay {
    /// Returns whether nothing is read because too many events match.
    is_too_long: bool,
    /// Whether the client asked for it, and is told when it is over.
    is_asked: bool,
    is_being_read: bool,
    page: VecDeque<Arc<FedEvent>>,
    /// What follows the page: from where to go on, and whether that is the present.
    after: Option<(Seq, bool)>,
}

impl Replay {
    /// One that the client has asked for.
    pub(super) fn of(past: Past) -> Self {
        Self {
            is_too_long: past.coverage == Coverage::TooLong,
            is_asked: true,
            ..Self::default()
        }
    }
}

impl Subscriptions {
    /// Whether something of the past is still to be sent.
    pub(in crate::socket) fn is_behind(&self) -> bool {
        self.all.iter().any(|it| !it.is_live())
    }

    /// What is to be read next of the past, if anything is. It counts as being read from now on.
    pub(in crate::socket) fn next_request(&mut self) -> Option<PageRequest> {
        let is_idle = |it: &Subscription| {
            let replay = it.replay.as_ref();
            replay.is_some_and(|replay| !replay.is_being_read && replay.after.is_none())
        };
        let place = self.all.iter().position(is_idle)?;
        // Those behind it come before it the next time.
        let mut it = self.all.remove(place);
        let (key, channel, since) = (it.key, it.channel, it.next);
        let request = it.replay.as_mut().map(|replay| {
            replay.is_being_read = true;
            PageRequest {
                key,
                channel,
                since,
                is_too_long: replay.is_too_long,
            }
        });
        self.all.push(it);
        request
    }

    /// Drops what was read and has not been sent, and expects nothing of what is being read:
    /// what the client may see has changed. It is all read again.
    pub(in crate::socket) fn drop_pages(&mut self) {
        for it in &mut self.all {
            let Some(replay) = &mut it.replay else {
                continue;
            };
            replay.page.clear();
            replay.after = None;
            replay.is_being_read = false;
            // What is being read is for another one.
            it.key = next_key(&mut self.keys);
        }
    }

    /// Takes in what was read.
    pub(in crate::socket) fn take_in(
        &mut self,
        request: PageRequest,
        page: Page,
        send: NoticeSink<'_>,
    ) -> Result<(), Overfull> {
        let is_it = |it: &Subscription| it.key == request.key;
        // It may have ended meanwhile, or begun anew.
        let Some(place) = self.all.iter().position(is_it) else {
            return Ok(());
        };
        let it = &mut self.all[place];
        let Some(replay) = &mut it.replay else {
            return Ok(());
        };
        replay.is_being_read = false;
        match page {
            Page::Failed => {}
            Page::Events {
                events,
                next,
                at_tail,
            } => {
                replay.page = events.into();
                replay.after = Some((next, at_tail));
            }
            // The client has never heard of it, and the end of its turn may be in the gap.
            Page::Gap { .. } if !it.is_named => {
                self.all.remove(place);
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

    /// Sends what was read of the past, for as long as there is room.
    pub(in crate::socket) fn send_replayed(
        &mut self,
        has_room: impl Fn() -> bool,
        send: NoticeSink<'_>,
    ) -> Result<(), Overfull> {
        let mut place = 0;
        while let Some(it) = self.all.get_mut(place) {
            let key = it.key;
            let read = it.replay.as_mut().filter(|replay| replay.after.is_some());
            let Some(replay) = read else {
                place += 1;
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
            send(Notice::Event(&[it.channel], &event))?;
            self.end_with(&event, true, |other| other.key == key, send)?;
        }
        Ok(())
    }
}

impl Subscription {
    /// Goes on behind a page that was sent.
    fn end_page(&mut self, send: NoticeSink<'_>) -> Result<(), Overfull> {
        let Some(replay) = &mut self.replay else {
            return Ok(());
        };
        let Some((next, at_tail)) = replay.after.take() else {
            return Ok(());
        };
        self.next = next;
        if at_tail {
            let is_asked = replay.is_asked;
            self.replay = None;
            if is_asked {
                send(Notice::CaughtUp(self.channel, next))?;
            }
        }
        Ok(())
    }
}
