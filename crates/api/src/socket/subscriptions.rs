//! What a socket follows, and from where on: each channel gets its events in order and once.

mod live;
mod notice;
mod page;
mod past;
mod recent;
mod replay;
#[cfg(test)]
mod tests;

use application::realtime::FedEvent;
use domain::{AgentId, EventType, Seq, TurnId};

pub(super) use self::{
    notice::{Notice, NoticeSink},
    page::{Page, PageRequest},
    past::{Coverage, Past},
};
use self::{recent::RecentlyEnded, replay::Replay};
use super::{
    Overfull,
    frames::{Channel, MOST_CHANNELS},
};

/// The maximum number of events after a client's cursor that a channel replays.
pub(super) const MOST_REPLAYED: usize = 10_000;
/// Conversations that are followed at once because of a chat.
const MOST_IMPLICIT: usize = MOST_CHANNELS;

/// What a socket follows.
#[derive(Debug, Default)]
pub(super) struct Subscriptions {
    all: Vec<Subscription>,
    keys: u32,
    recent: RecentlyEnded,
}

#[derive(Debug)]
struct Subscription {
    /// Tells it from others of the same channel, before and after it; the older the smaller.
    key: u32,
    channel: Channel,
    /// Who answers in a conversation: it ends with its agent.
    agent: Option<AgentId>,
    /// Whether the client asked for it by name; else it ends with the turns that it waits for.
    is_named: bool,
    turns: Vec<TurnId>,
    /// Everything up to here was sent.
    next: Seq,
    /// What is still to be sent of the past; nothing when it is at the present.
    replay: Option<Box<Replay>>,
}

/// From where on a channel is followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Opening {
    /// What comes after this position is still to be sent, if no cursor was named.
    pub(super) head: Seq,
    /// Whether nothing of the past is to be sent first.
    pub(super) is_live: bool,
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

    /// Whether it is a conversation of which nobody looked whether the client may know it.
    fn is_unknown(&self) -> bool {
        self.agent.is_none() && matches!(self.channel, Channel::Conversation(_))
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

    /// The same, as far as nothing of the past is still to be sent of them.
    pub(super) fn live_channels(&self) -> impl Iterator<Item = Channel> {
        let live = self.all.iter().filter(|it| it.is_live());
        live.map(|it| it.channel)
    }

    /// Follows a channel that the client names: anew from its cursor, or from `head` on. Without
    /// a cursor, one that is followed already, or was when the log stood at `head`, goes on where
    /// it is. `agent` is who answers in a conversation.
    pub(super) fn open(
        &mut self,
        channel: Channel,
        agent: Option<AgentId>,
        past: Option<Past>,
        head: Seq,
    ) -> Opening {
        if past.is_none()
            && let Some(known) = self.all.iter_mut().find(|it| it.channel == channel)
        {
            known.is_named = true;
            known.turns = Vec::new();
            known.agent = known.agent.or(agent);
            return Opening {
                head: head.max(known.next),
                is_live: known.is_live(),
            };
        }
        self.all.retain(|it| it.channel != channel);
        let head = head.max(self.recent.position_of(channel));
        let key = next_key(&mut self.keys);
        self.all.push(Subscription {
            key,
            channel,
            agent,
            is_named: true,
            turns: Vec::new(),
            next: past.map_or(head, |past| past.since),
            replay: past.map(|past| Box::new(Replay::of(past))),
        });
        let is_live = past.is_none();
        Opening { head, is_live }
    }

    /// Follows a conversation until a turn has ended, from a position on that is before the turn.
    pub(super) fn await_turn(
        &mut self,
        turn: TurnId,
        channel: Channel,
        agent: AgentId,
        since: Seq,
    ) {
        // Its end may have been sent while the chat was under way, and does not come again.
        if self.recent.has_turn(turn) {
            return;
        }
        if let Some(known) = self.all.iter_mut().find(|it| it.channel == channel) {
            if !known.is_named && !known.turns.contains(&turn) {
                known.turns.push(turn);
            }
            return;
        }
        self.make_room_for_implicit();
        let key = next_key(&mut self.keys);
        self.all.push(Subscription {
            key,
            channel,
            agent: Some(agent),
            is_named: false,
            turns: vec![turn],
            next: since.max(self.recent.position_of(channel)),
            replay: None,
        });
    }

    /// Whoever chats in more conversations at once than it could name hears of the latest.
    fn make_room_for_implicit(&mut self) {
        let implicit = || self.all.iter().filter(|it| !it.is_named);
        if implicit().count() < MOST_IMPLICIT {
            return;
        }
        if let Some(oldest) = implicit().map(|it| it.key).min() {
            self.all.retain(|it| it.key != oldest);
        }
    }

    /// Ends a subscription.
    pub(super) fn close(&mut self, channel: Channel) {
        let Some(place) = self.all.iter().position(|it| it.channel == channel) else {
            return;
        };
        let ended = self.all.remove(place);
        self.recent.note_channel(channel, ended.next);
        self.all.shrink_to(4);
    }

    /// Ends those for which an event was the last. `is_shown` is whether the client may know of it.
    fn end_with(
        &mut self,
        event: &FedEvent,
        is_shown: bool,
        is_due: impl Fn(&Subscription) -> bool,
        send: NoticeSink<'_>,
    ) -> Result<(), Overfull> {
        let mut place = 0;
        while let Some(it) = self.all.get_mut(place) {
            if !is_due(it) {
                place += 1;
                continue;
            }
            let is_deleted = it.ends_with(event);
            if is_deleted && it.is_named && (is_shown || !it.is_unknown()) {
                send(Notice::Deleted(it.channel))?;
            }
            self.recent.note_end_of_turn(it.channel, event);
            if is_deleted {
                self.all.remove(place);
            } else if it.is_over_with(event) {
                self.recent.note_channel(it.channel, event.seq());
                self.all.remove(place);
            } else {
                place += 1;
            }
        }
        Ok(())
    }
}

/// The key of the subscription that comes next.
const fn next_key(last: &mut u32) -> u32 {
    *last = last.wrapping_add(1);
    *last
}
