//! The past: what a channel is told before it has come to the present.

use std::{collections::VecDeque, sync::Arc};

use application::realtime::FedEvent;
use domain::Seq;

use super::{Page, Subscription, Subscriptions, Teller, Wanted, Word};
use crate::socket::Overfull;

/// How far a channel has been told of the past.
#[derive(Debug, Default)]
pub(super) struct Replay {
    told: usize,
    /// Whether the client asked for it, and is told when it is over.
    is_asked: bool,
    is_being_read: bool,
    page: VecDeque<Arc<FedEvent>>,
    /// What follows the page: from where to go on, and whether that is the present.
    after: Option<(Seq, bool)>,
}

impl Replay {
    /// One that the client has asked for.
    pub(super) fn asked_for() -> Self {
        Self {
            is_asked: true,
            ..Self::default()
        }
    }
}

impl Subscriptions {
    /// Whether something of the past is still to be told.
    pub(in crate::socket) fn is_behind(&self) -> bool {
        self.all.iter().any(|it| !it.is_live())
    }

    /// What is to be read next of the past, if anything is. It counts as being read from now on.
    pub(in crate::socket) fn next_wanted(&mut self) -> Option<Wanted> {
        let is_idle = |it: &Subscription| {
            let replay = it.replay.as_ref();
            replay.is_some_and(|replay| !replay.is_being_read && replay.after.is_none())
        };
        let place = self.all.iter().position(is_idle)?;
        // Those behind it come before it the next time.
        let mut it = self.all.remove(place);
        let mut told = 0;
        if let Some(replay) = &mut it.replay {
            replay.is_being_read = true;
            told = replay.told;
        }
        let wanted = Wanted {
            key: it.key,
            channel: it.channel,
            since: it.next,
            told,
        };
        self.all.push(it);
        Some(wanted)
    }

    /// Takes in what was read.
    pub(in crate::socket) fn take_in(
        &mut self,
        wanted: Wanted,
        page: Page,
        tell: Teller<'_>,
    ) -> Result<(), Overfull> {
        let mut all = self.all.iter_mut();
        // It may have ended meanwhile, or begun anew.
        let Some(it) = all.find(|it| it.key == wanted.key) else {
            return Ok(());
        };
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
            Page::Gap {
                first,
                head,
                reason,
            } => {
                it.replay = None;
                it.next = head;
                let channel = it.channel;
                tell(Word::Resync {
                    channel,
                    first,
                    head,
                    reason,
                })?;
            }
        }
        Ok(())
    }

    /// Tells what was read of the past, for as long as there is room.
    pub(in crate::socket) fn tell_past(
        &mut self,
        has_room: impl Fn() -> bool,
        tell: Teller<'_>,
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
                it.end_page(tell)?;
                continue;
            };
            replay.told += 1;
            it.next = event.seq;
            tell(Word::Event(&[it.channel], &event))?;
            self.end_with(&event, |other| other.key == key, tell)?;
        }
        Ok(())
    }
}

impl Subscription {
    /// Goes on behind a page that was told.
    fn end_page(&mut self, tell: Teller<'_>) -> Result<(), Overfull> {
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
                tell(Word::CaughtUp(self.channel, next))?;
            }
        }
        Ok(())
    }
}
