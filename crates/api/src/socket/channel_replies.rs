//! The replies in the channels of a socket.

use std::sync::Arc;

use application::live_turns::{FollowedReplies, RemoteTurns, ReplyFollowers};
use domain::TenantId;

use super::frames::Channel;

/// Requests the replies in the channels of a socket from the nodes that run their turns.
pub(super) struct ChannelReplies {
    pub(super) tenant: TenantId,
    pub(super) followers: Arc<ReplyFollowers>,
    /// Receives the turns of other nodes.
    pub(super) remote: Arc<RemoteTurns>,
}

impl ChannelReplies {
    /// Follows the replies in a channel for as long as the result is held.
    pub(super) fn follow(&self, channel: Channel) -> FollowedReplies {
        let conversation = match channel {
            Channel::Conversation(id) => Some(id),
            Channel::Tenant | Channel::Agent(_) => None,
        };
        self.followers
            .follow(&self.tenant, conversation, Some(&self.remote))
    }
}
