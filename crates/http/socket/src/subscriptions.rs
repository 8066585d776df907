//! The subscriptions of a socket: each channel receives its events in order and once.

mod live;
mod notice;
mod page;
mod recent;
mod replay;
mod replay_request;
#[cfg(test)]
mod tests;

use application::{live_turns::ReaderGuard, realtime::SerializedEvent};
use domain::{AgentId, AgentReach, EventType, Seq, TurnId};
use ports::EventVisibility;

pub(super) use self::{
    notice::{Notice, NoticeSink},
    page::{Page, PageRequest},
    replay_request::{ReplayAvailability, ReplayRequest},
};
use self::{recent::RecentlyEnded, replay::Replay};
use super::{
    SendQueueFull,
    channel_replies::ChannelReplies,
    frames::{Channel, MAX_CHANNELS},
};

/// The maximum number of events after a client's cursor that a channel replays.
pub(super) const MAX_REPLAYED_EVENTS: usize = 10_000;
/// The maximum number of conversations that are followed because of a chat.
const MAX_IMPLICIT_SUBSCRIPTIONS: usize = MAX_CHANNELS;

/// The subscriptions of a socket.
pub(super) struct Subscriptions {
    all: Vec<Subscription>,
    keys: u32,
    recent: RecentlyEnded,
    replies: ChannelReplies,
}

struct Subscription {
    /// Distinguishes the subscription from earlier and later ones of the same channel; it increases
    /// with each.
    key: u32,
    channel: Channel,
    /// The agent of a conversation: the subscription ends when the agent is deleted.
    agent: Option<AgentId>,
    /// True if the client subscribed explicitly; otherwise the subscription ends with its turns.
    is_named: bool,
    turns: Vec<TurnId>,
    /// The position up to which all events were sent.
    next: Seq,
    /// The rest of the replay; `None` once the subscription has reached the present. Until then it
    /// receives no new events, which would overtake older ones.
    replay: Option<Box<Replay>>,
    /// Makes other nodes send the replies of the channel.
    _reader: Option<ReaderGuard>,
}

/// The start of a subscription.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SubscriptionStart {
    /// The position after which events follow, if the client sent no cursor.
    pub(super) head: Seq,
    /// True if no replay comes first.
    pub(super) is_live: bool,
}

impl Subscription {
    fn is_live(&self) -> bool {
        self.replay.is_none()
    }

    fn ends_with(&self, event: &SerializedEvent, visibility: &EventVisibility) -> bool {
        let is_moved_away = visibility.is_moved_away(&event.logged);
        let event = &event.logged.event;
        if is_moved_away && matches!(self.channel, Channel::Conversation(_)) {
            return self.channel.matches(event);
        }
        let agent_is_deleted = event.kind == EventType::AgentDeleted
            && self.agent.is_some()
            && self.agent == event.agent_id;
        agent_is_deleted || self.channel.ends_with(event)
    }

    /// Returns whether the subscription is of a conversation that was not checked to be visible to
    /// the client.
    fn is_unchecked(&self) -> bool {
        self.agent.is_none() && matches!(self.channel, Channel::Conversation(_))
    }

    /// Records the end of a turn. Returns whether the subscription waited only for it.
    fn has_ended(&mut self, event: &SerializedEvent) -> bool {
        let event = &event.logged.event;
        if event.kind.is_end_of_turn() {
            self.turns.retain(|turn| Some(*turn) != event.turn_id);
        }
        !self.is_named && self.turns.is_empty()
    }
}

impl Subscriptions {
    /// Creates an empty set, whose channels are followed through `replies`.
    pub(super) fn new(replies: ChannelReplies) -> Self {
        Self {
            all: Vec::new(),
            keys: 0,
            recent: RecentlyEnded::default(),
            replies,
        }
    }

    /// The number of explicit subscriptions.
    pub(super) fn named(&self) -> usize {
        self.all.iter().filter(|it| it.is_named).count()
    }

    /// Returns whether the client subscribed to a channel explicitly.
    pub(super) fn has_named(&self, channel: Channel) -> bool {
        self.all
            .iter()
            .any(|it| it.is_named && it.channel == channel)
    }

    /// The channels of all subscriptions, explicit or not.
    pub(super) fn channels(&self) -> impl Iterator<Item = Channel> {
        self.all.iter().map(|it| it.channel)
    }

    /// The channels of the subscriptions that have reached the present.
    pub(super) fn live_channels(&self) -> impl Iterator<Item = Channel> {
        let live = self.all.iter().filter(|it| it.is_live());
        live.map(|it| it.channel)
    }

    /// Returns the position up to which every subscription that has reached the present has sent all
    /// events; `None` without such a subscription.
    pub(super) fn live_position(&self) -> Option<Seq> {
        let live = self.all.iter().filter(|it| it.is_live());
        live.map(|it| it.next).min()
    }

    /// Subscribes to a channel explicitly: from its cursor, or from `head`. Without a cursor, a
    /// channel that is followed already, or was when the log's head was `head`, continues from its
    /// position. `agent` is the agent of a conversation.
    pub(super) fn open(
        &mut self,
        channel: Channel,
        agent: Option<AgentId>,
        requested: Option<ReplayRequest>,
        head: Seq,
    ) -> SubscriptionStart {
        if requested.is_none()
            && let Some(known) = self.all.iter_mut().find(|it| it.channel == channel)
        {
            known.is_named = true;
            known.turns = Vec::new();
            known.agent = known.agent.or(agent);
            return SubscriptionStart {
                head: head.max(known.next),
                is_live: known.is_live(),
            };
        }
        // Created first, so that the replies of a replaced subscription are not requested again.
        let reader = Some(self.replies.follow(channel));
        self.all.retain(|it| it.channel != channel);
        let head = head.max(self.recent.position_of(channel));
        let key = next_key(&mut self.keys);
        self.all.push(Subscription {
            key,
            channel,
            agent,
            is_named: true,
            turns: Vec::new(),
            next: requested.map_or(head, |requested| requested.since),
            replay: requested.map(|requested| Box::new(Replay::of(requested))),
            _reader: reader,
        });
        let is_live = requested.is_none();
        SubscriptionStart { head, is_live }
    }

    /// Follows a conversation until a turn has ended, from a position before the turn.
    pub(super) fn await_turn(
        &mut self,
        turn: TurnId,
        channel: Channel,
        agent: AgentId,
        since: Seq,
    ) {
        // The end of the turn may have been sent while the chat was running, and is not sent twice.
        if self.recent.has_ended_turn(turn) {
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
            _reader: self.replies.follow_if_remote(turn, channel),
        });
    }

    /// Drops the oldest implicit subscription if there are too many.
    fn make_room_for_implicit(&mut self) {
        let implicit = || self.all.iter().filter(|it| !it.is_named);
        if implicit().count() < MAX_IMPLICIT_SUBSCRIPTIONS {
            return;
        }
        if let Some(oldest) = implicit().map(|it| it.key).min() {
            self.all.retain(|it| it.key != oldest);
        }
    }

    /// Ends a subscription.
    pub(super) fn close(&mut self, channel: Channel) {
        let Some(index) = self.all.iter().position(|it| it.channel == channel) else {
            return;
        };
        let ended = self.all.remove(index);
        self.recent.record_channel(channel, ended.next);
        self.all.shrink_to(4);
    }

    /// Ends the subscriptions of agents that cannot be reached, and of their conversations. Returns the
    /// channels to which the client subscribed.
    pub(super) fn close_unreachable(&mut self, reach: &AgentReach) -> Vec<Channel> {
        let closed = self.all.extract_if(.., |it| {
            let agent = match it.channel {
                Channel::Agent(id) => Some(id),
                Channel::Tenant | Channel::Conversation(_) => it.agent,
            };
            agent.is_some_and(|id| !reach.contains(id))
        });
        let named = closed.filter(|it| it.is_named);
        named.map(|it| it.channel).collect()
    }

    /// Ends the subscriptions for which `event` is the last.
    fn end_with(
        &mut self,
        event: &SerializedEvent,
        visibility: &EventVisibility,
        is_due: impl Fn(&Subscription) -> bool,
        send: NoticeSink<'_>,
    ) -> Result<(), SendQueueFull> {
        let is_shown = visibility.shows(&event.logged);
        let mut index = 0;
        while let Some(it) = self.all.get_mut(index) {
            if !is_due(it) {
                index += 1;
                continue;
            }
            let is_deleted = it.ends_with(event, visibility);
            if is_deleted && it.is_named && (is_shown || !it.is_unchecked()) {
                send(Notice::Deleted(it.channel))?;
            }
            self.recent.record_end_of_turn(it.channel, event);
            if is_deleted {
                self.all.remove(index);
            } else if it.has_ended(event) {
                self.recent.record_channel(it.channel, event.seq());
                self.all.remove(index);
            } else {
                index += 1;
            }
        }
        Ok(())
    }
}

/// The key of the next subscription.
const fn next_key(last: &mut u32) -> u32 {
    *last = last.wrapping_add(1);
    *last
}
