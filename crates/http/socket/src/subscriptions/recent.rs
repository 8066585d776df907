//! Recently ended subscriptions and turns: commands that ran meanwhile may refer to them.

use std::collections::VecDeque;

use application::realtime::SerializedEvent;
use domain::{Seq, TurnId};

use crate::{frames::Channel, session::MAX_RUNNING_WITH_SHORT};

/// The number of entries: the maximum number of concurrent commands.
const MAX_REMEMBERED: usize = MAX_RUNNING_WITH_SHORT;

/// Recently ended subscriptions and turns.
#[derive(Debug, Default)]
pub(super) struct RecentlyEnded {
    /// Channels, with the position up to which their events were sent.
    channels: VecDeque<(Channel, Seq)>,
    /// Turns whose end was sent as an event of their conversation.
    turns: VecDeque<TurnId>,
}

impl RecentlyEnded {
    /// Records an ended subscription, and the position up to which its events were sent.
    pub(super) fn record_channel(&mut self, channel: Channel, position: Seq) {
        self.channels.retain(|(known, _)| *known != channel);
        remember(&mut self.channels, (channel, position));
    }

    /// The position up to which a channel's events were sent before it ended; 0 if unknown.
    pub(super) fn position_of(&self, channel: Channel) -> Seq {
        let found = self.channels.iter().find(|(known, _)| *known == channel);
        found.map_or(Seq(0), |(_, position)| *position)
    }

    /// Records the end of a turn that was sent in the channel of its conversation.
    pub(super) fn record_end_of_turn(&mut self, channel: Channel, event: &SerializedEvent) {
        let event = &event.logged.event;
        if matches!(channel, Channel::Conversation(_))
            && channel.matches(event)
            && event.kind.is_end_of_turn()
            && let Some(turn) = event.turn_id
        {
            remember(&mut self.turns, turn);
        }
    }

    /// Returns whether the end of a turn was sent.
    pub(super) fn has_ended_turn(&self, turn: TurnId) -> bool {
        self.turns.contains(&turn)
    }
}

fn remember<T>(all: &mut VecDeque<T>, new: T) {
    if all.len() == MAX_REMEMBERED {
        all.pop_front();
    }
    all.push_back(new);
}
