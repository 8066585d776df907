//! What a socket followed a moment ago: a command that was under way meanwhile may speak of it.

use std::collections::VecDeque;

use application::realtime::FedEvent;
use domain::{Seq, TurnId};

use crate::socket::{frames::Channel, session::MOST_WITH_SHORT_ONES};

/// As many as there are commands under way at once.
const MOST_REMEMBERED: usize = MOST_WITH_SHORT_ONES;

/// What a socket followed a moment ago.
#[derive(Debug, Default)]
pub(super) struct RecentlyEnded {
    /// Channels, and up to where they were sent.
    channels: VecDeque<(Channel, Seq)>,
    /// Turns whose end was sent as an event of their conversation.
    turns: VecDeque<TurnId>,
}

impl RecentlyEnded {
    /// Notes that a channel was sent up to a position, and is followed no longer.
    pub(super) fn note_channel(&mut self, channel: Channel, position: Seq) {
        self.channels.retain(|(known, _)| *known != channel);
        remember(&mut self.channels, (channel, position));
    }

    /// Up to where a channel was sent before it ended; the beginning if nothing is known of it.
    pub(super) fn position_of(&self, channel: Channel) -> Seq {
        let found = self.channels.iter().find(|(known, _)| *known == channel);
        found.map_or(Seq(0), |(_, position)| *position)
    }

    /// Notes a turn whose end a channel was sent, if it is that of its conversation.
    pub(super) fn note_end_of_turn(&mut self, channel: Channel, event: &FedEvent) {
        let event = &event.logged.event;
        if matches!(channel, Channel::Conversation(_))
            && channel.concerns(event)
            && event.kind.is_end_of_turn()
            && let Some(turn) = event.turn_id
        {
            remember(&mut self.turns, turn);
        }
    }

    /// Whether the end of a turn was sent.
    pub(super) fn has_turn(&self, turn: TurnId) -> bool {
        self.turns.contains(&turn)
    }
}

fn remember<T>(all: &mut VecDeque<T>, new: T) {
    if all.len() == MOST_REMEMBERED {
        all.pop_front();
    }
    all.push_back(new);
}
