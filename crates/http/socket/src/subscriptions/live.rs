//! Sends new events to the subscriptions that have reached the present.

use application::realtime::{PageSize, SerializedEvent, Tail, TailEvents};
use domain::Seq;
use ports::EventVisibility;

use super::{Notice, NoticeSink, Subscription, Subscriptions};
use crate::{SendQueueFull, frames::Channel};

impl Subscriptions {
    /// Sends new events to the live subscriptions while `has_room`, and continues there the next
    /// time. A subscription whose next event is no longer in memory is replayed.
    pub(crate) fn send_live(
        &mut self,
        tail: &Tail,
        visibility: &EventVisibility,
        has_room: impl Fn() -> bool,
        send: NoticeSink<'_>,
    ) -> Result<(), SendQueueFull> {
        while let Some(since) = self.oldest_live_before(tail.position())
            && has_room()
        {
            let is_wanted = |event: &SerializedEvent| self.matches_any(event, visibility);
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

    /// The position of the live subscription that is furthest behind.
    fn oldest_live_before(&self, position: Seq) -> Option<Seq> {
        let live = self.all.iter().filter(|it| it.is_live());
        live.map(|it| it.next).filter(|next| *next < position).min()
    }

    /// Returns whether an event is due for a live subscription.
    fn matches_any(&self, event: &SerializedEvent, visibility: &EventVisibility) -> bool {
        // The replies of a conversation that moves are those of another user, whether its events are visible
        // or not.
        let is_sent = visibility.shows(&event.logged) || event.logged.moved.is_some();
        self.all.iter().any(|it| {
            let is_due = it.is_live() && it.next < event.seq();
            let matches = || is_sent && it.channel.matches(&event.logged.event);
            is_due && (matches() || it.ends_with(event, visibility))
        })
    }

    fn fall_behind(&mut self, since: Seq) {
        let live = self.all.iter_mut().filter(|it| it.is_live());
        for it in live.filter(|it| it.next == since) {
            // The client did not request it, and receives no notice of its end.
            it.replay = Some(Box::default());
        }
    }

    fn send_event(
        &mut self,
        event: &SerializedEvent,
        visibility: &EventVisibility,
        send: NoticeSink<'_>,
    ) -> Result<(), SendQueueFull> {
        let is_due = |it: &Subscription| it.is_live() && it.next < event.seq();
        if event.logged.moved.is_some() {
            send(Notice::Moved(event))?;
        }
        if visibility.shows(&event.logged) {
            let due = self.all.iter().filter(|it| is_due(it));
            let channels: Vec<Channel> = due
                .map(|it| it.channel)
                .filter(|channel| channel.matches(&event.logged.event))
                .collect();
            if !channels.is_empty() {
                send(Notice::Event(&channels, event))?;
            }
        }
        self.end_with(event, visibility, is_due, send)
    }

    fn advance_live_to(&mut self, position: Seq) {
        let live = self.all.iter_mut().filter(|it| it.is_live());
        for it in live.filter(|it| it.next < position) {
            it.next = position;
        }
    }
}
