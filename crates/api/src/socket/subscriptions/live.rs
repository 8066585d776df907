//! The present: what is new to the channels that have been sent everything of the past.

use application::realtime::{FedEvent, PageSize, Tail, TailEvents};
use domain::Seq;
use ports::EventVisibility;

use super::{Notice, NoticeSink, Subscription, Subscriptions};
use crate::socket::{Overfull, frames::Channel};

impl Subscriptions {
    /// Sends what is new to those that are at the present, for as long as there is room; it goes
    /// on there the next time. Who has fallen behind what is in memory has to be replayed.
    pub(in crate::socket) fn send_live(
        &mut self,
        tail: &Tail,
        visibility: &EventVisibility,
        has_room: impl Fn() -> bool,
        send: NoticeSink<'_>,
    ) -> Result<(), Overfull> {
        while let Some(since) = self.oldest_live_before(tail.position())
            && has_room()
        {
            let is_wanted = |event: &FedEvent| self.concerns_any(event, visibility);
            let read = tail.read(since, PageSize::FOLLOWED, is_wanted);
            let Some(TailEvents { events, next }) = read else {
                self.fall_behind(since);
                continue;
            };
            for event in &events {
                if !has_room() {
                    return Ok(());
                }
                self.send_event(event, visibility, send)?;
                self.advance_live_to(event.seq());
            }
            self.advance_live_to(next);
        }
        Ok(())
    }

    /// How far the one has been sent that is the furthest behind.
    fn oldest_live_before(&self, position: Seq) -> Option<Seq> {
        let live = self.all.iter().filter(|it| it.is_live());
        live.map(|it| it.next).filter(|next| *next < position).min()
    }

    /// Whether one of those that are at the present has to know of an event.
    fn concerns_any(&self, event: &FedEvent, visibility: &EventVisibility) -> bool {
        let is_shown = visibility.shows(&event.logged);
        self.all.iter().any(|it| {
            let is_due = it.is_live() && it.next < event.seq();
            is_due && (is_shown && it.channel.concerns(&event.logged.event) || it.ends_with(event))
        })
    }

    fn fall_behind(&mut self, since: Seq) {
        let live = self.all.iter_mut().filter(|it| it.is_live());
        for it in live.filter(|it| it.next == since) {
            it.replay = Some(Box::default());
        }
    }

    fn send_event(
        &mut self,
        event: &FedEvent,
        visibility: &EventVisibility,
        send: NoticeSink<'_>,
    ) -> Result<(), Overfull> {
        let is_due = |it: &Subscription| it.is_live() && it.next < event.seq();
        let is_shown = visibility.shows(&event.logged);
        if is_shown {
            let due = self.all.iter().filter(|it| is_due(it));
            let channels: Vec<Channel> = due
                .map(|it| it.channel)
                .filter(|channel| channel.concerns(&event.logged.event))
                .collect();
            if !channels.is_empty() {
                send(Notice::Event(&channels, event))?;
            }
        }
        self.end_with(event, is_shown, is_due, send)
    }

    fn advance_live_to(&mut self, position: Seq) {
        let live = self.all.iter_mut().filter(|it| it.is_live());
        for it in live.filter(|it| it.next < position) {
            it.next = position;
        }
    }
}
