//! What a socket follows, and from where on: each channel gets its events in order and once.

mod past;
#[cfg(test)]
mod tests;
mod word;

use application::realtime::{FedEvent, Tail, TailEvents};
use domain::{AgentId, EventType, Seq, TurnId};
use ports::EventVisibility;

use self::past::Replay;
pub(super) use self::word::{Page, Teller, Wanted, Word};
use super::{Overfull, frames::Channel};

/// Events that a channel is told of the past at most.
pub(super) const MOST_REPLAYED: usize = 10_000;
/// Events that are taken from memory at once.
const BATCH: usize = 64;

/// What a socket follows.
#[derive(Debug, Default)]
pub(super) struct Subscriptions {
    all: Vec<Subscription>,
    keys: u32,
}

#[derive(Debug)]
struct Subscription {
    /// Tells it from others of the same channel, before and after it.
    key: u32,
    channel: Channel,
    /// Who answers in a conversation: it ends with its agent.
    agent: Option<AgentId>,
    /// Whether the client asked for it by name; else it ends with the turns that it waits for.
    is_named: bool,
    turns: Vec<TurnId>,
    /// Everything up to here was told.
    next: Seq,
    /// What is still told of the past; nothing when it is at the present.
    replay: Option<Box<Replay>>,
}

impl Subscription {
    fn is_live(&self) -> bool {
        self.replay.is_none()
    }

    fn ends_with(&self, event: &FedEvent) -> bool {
        let event = &event.logged.event;
        let agent_is_gone = event.kind == EventType::AgentDeleted
            && self.agent.is_some()
            && self.agent == event.agent_id;
        agent_is_gone || self.channel.ends_with(event)
    }

    /// Notes that a turn has ended. Whether that was all that it waited for.
    fn is_over_with(&mut self, event: &FedEvent) -> bool {
        let event = &event.logged.event;
        if event.kind.is_end_of_turn() {
            self.turns.retain(|turn| Some(*turn) != event.turn_id);
        }
        !self.is_named && self.turns.is_empty()
    }
}

impl Subscriptions {
    /// How many the client has asked for by name.
    pub(super) fn named(&self) -> usize {
        self.all.iter().filter(|it| it.is_named).count()
    }

    /// Whether the client has asked for a channel by name.
    pub(super) fn has_named(&self, channel: Channel) -> bool {
        self.all
            .iter()
            .any(|it| it.is_named && it.channel == channel)
    }

    /// The channels that are followed, by name or not.
    pub(super) fn channels(&self) -> impl Iterator<Item = Channel> {
        self.all.iter().map(|it| it.channel)
    }

    /// Begins a subscription, or begins one anew: after `since`, or from `head` on. `agent` is who
    /// answers in a conversation.
    pub(super) fn open(
        &mut self,
        channel: Channel,
        agent: Option<AgentId>,
        since: Option<Seq>,
        head: Seq,
    ) {
        let before = self.all.iter().position(|it| it.channel == channel);
        let before = before.map(|place| self.all.swap_remove(place));
        let turns = before.map(|it| it.turns).unwrap_or_default();
        let replay = since.map(|_| Box::new(Replay::asked_for()));
        let key = self.key();
        self.all.push(Subscription {
            key,
            channel,
            agent,
            is_named: true,
            turns,
            next: since.unwrap_or(head),
            replay,
        });
    }

    /// Follows a conversation until a turn has ended, from a position on that is before the turn.
    pub(super) fn await_turn(
        &mut self,
        turn: TurnId,
        channel: Channel,
        agent: AgentId,
        since: Seq,
    ) {
        if let Some(known) = self.all.iter_mut().find(|it| it.channel == channel) {
            if !known.is_named {
                known.turns.push(turn);
            }
            return;
        }
        let key = self.key();
        self.all.push(Subscription {
            key,
            channel,
            agent: Some(agent),
            is_named: false,
            turns: vec![turn],
            next: since,
            replay: None,
        });
    }

    /// Ends a subscription.
    pub(super) fn close(&mut self, channel: Channel) {
        self.all.retain(|it| it.channel != channel);
        self.all.shrink_to(4);
    }

    fn key(&mut self) -> u32 {
        self.keys = self.keys.wrapping_add(1);
        self.keys
    }

    /// Tells what is new to those that are at the present. Who has fallen behind what is in memory
    /// has to be replayed.
    pub(super) fn tell_news(
        &mut self,
        tail: &Tail,
        visibility: &EventVisibility,
        tell: Teller<'_>,
    ) -> Result<(), Overfull> {
        loop {
            let position = tail.position();
            let behind = |it: &&Subscription| it.is_live() && it.next < position;
            let oldest = self.all.iter().filter(behind).map(|it| it.next).min();
            let Some(since) = oldest else {
                return Ok(());
            };
            let read = tail.read(since, BATCH, |event| self.concerns_any(event, visibility));
            let Some(TailEvents { events, next }) = read else {
                self.fall_behind(since);
                continue;
            };
            for event in &events {
                self.tell_live(event, visibility, tell)?;
            }
            let live = self.all.iter_mut().filter(|it| it.is_live());
            for it in live.filter(|it| it.next < next) {
                it.next = next;
            }
        }
    }

    /// Whether one of those that are at the present has to know of an event.
    fn concerns_any(&self, event: &FedEvent, visibility: &EventVisibility) -> bool {
        let is_shown = visibility.shows(&event.logged);
        self.all.iter().any(|it| {
            let is_due = it.is_live() && it.next < event.seq;
            is_due && (is_shown && it.channel.concerns(&event.logged.event) || it.ends_with(event))
        })
    }

    fn fall_behind(&mut self, since: Seq) {
        let live = self.all.iter_mut().filter(|it| it.is_live());
        for it in live.filter(|it| it.next == since) {
            it.replay = Some(Box::default());
        }
    }

    fn tell_live(
        &mut self,
        event: &FedEvent,
        visibility: &EventVisibility,
        tell: Teller<'_>,
    ) -> Result<(), Overfull> {
        let is_due = |it: &Subscription| it.is_live() && it.next < event.seq;
        if visibility.shows(&event.logged) {
            let due = self.all.iter().filter(|it| is_due(it));
            let channels: Vec<Channel> = due
                .map(|it| it.channel)
                .filter(|channel| channel.concerns(&event.logged.event))
                .collect();
            if !channels.is_empty() {
                tell(Word::Event(&channels, event))?;
            }
        }
        self.end_with(event, is_due, tell)
    }

    /// Ends those for which an event was the last.
    fn end_with(
        &mut self,
        event: &FedEvent,
        is_due: impl Fn(&Subscription) -> bool,
        tell: Teller<'_>,
    ) -> Result<(), Overfull> {
        let mut place = 0;
        while let Some(it) = self.all.get_mut(place) {
            if !is_due(it) {
                place += 1;
                continue;
            }
            let is_deleted = it.ends_with(event);
            if is_deleted && it.is_named {
                tell(Word::Deleted(it.channel))?;
            }
            if is_deleted || it.is_over_with(event) {
                self.all.remove(place);
            } else {
                place += 1;
            }
        }
        Ok(())
    }
}
