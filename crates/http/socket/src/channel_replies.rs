//! The replies in the channels of a socket.

use std::sync::Arc;

use application::live_turns::{LiveTurns, ReaderGuard, RemoteTurnInbox};
use domain::{TenantId, TurnId};

use super::frames::Channel;

/// Requests the replies in the channels of a socket from the nodes that run their turns.
pub(super) struct ChannelReplies {
    pub(super) tenant: TenantId,
    pub(super) live: Arc<LiveTurns>,
    /// Receives the turns of other nodes.
    pub(super) remote: Arc<RemoteTurnInbox>,
}

impl ChannelReplies {
    /// Follows the replies in a channel for as long as the result is held.
    pub(super) fn follow(&self, channel: Channel) -> ReaderGuard {
        let conversation = match channel {
            Channel::Conversation(id) => Some(id),
            Channel::Tenant | Channel::Agent(_) => None,
        };
        let readers = &self.live.readers;
        readers.follow(&self.tenant, conversation, Some(&self.remote))
    }

    /// Follows the replies in the channel of a turn, unless this node runs it.
    pub(super) fn follow_if_remote(&self, turn: TurnId, channel: Channel) -> Option<ReaderGuard> {
        (!self.live.is_local(turn)).then(|| self.follow(channel))
    }
}
