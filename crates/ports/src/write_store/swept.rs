//! The turns that a sweep may end or start.

use std::collections::HashMap;

use domain::{ConversationId, TurnId};

/// A conversation that a sweep examines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SweptConversation {
    /// The conversation.
    pub id: ConversationId,
    /// Its running turn, if that has no live node.
    pub lost: Option<TurnId>,
    /// A turn with a call that was not answered in time: the running one, or one that has ended, whose call
    /// waits for staff.
    pub unanswered: Option<TurnId>,
    /// The queued turns, in the order of their `turn.queued` events.
    pub waiting: Vec<WaitingTurn>,
}

/// A queued turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WaitingTurn {
    /// The turn.
    pub id: TurnId,
    /// True if it was queued for too long.
    pub is_expired: bool,
}

impl SweptConversation {
    /// The turns that may end, and the turn that may start.
    pub fn turns(&self) -> impl Iterator<Item = TurnId> {
        let expired = self.waiting.iter().filter(|waiting| waiting.is_expired);
        let ended = self.lost.into_iter().chain(self.unanswered);
        let ended = ended.chain(expired.map(|turn| turn.id));
        ended.chain(self.next())
    }

    /// The first queued turn that has not expired.
    pub fn next(&self) -> Option<TurnId> {
        let mut valid = self.waiting.iter().filter(|waiting| !waiting.is_expired);
        valid.next().map(|turn| turn.id)
    }
}

/// Groups turns by conversation: first the conversations of lost and of unanswered turns, then those of
/// queued turns. `waiting` is in the order of the queues.
pub fn swept_conversations(
    lost: impl IntoIterator<Item = (ConversationId, TurnId)>,
    unanswered: impl IntoIterator<Item = (ConversationId, TurnId)>,
    waiting: impl IntoIterator<Item = (ConversationId, WaitingTurn)>,
) -> Vec<SweptConversation> {
    let swept = |id, lost, unanswered| SweptConversation {
        id,
        lost,
        unanswered,
        waiting: Vec::new(),
    };
    let lost = lost
        .into_iter()
        .map(|(id, turn)| swept(id, Some(turn), None));
    let unanswered = unanswered
        .into_iter()
        .map(|(id, turn)| swept(id, None, Some(turn)));
    let mut conversations: Vec<_> = lost.chain(unanswered).collect();
    let indexes = conversations.iter().zip(0..);
    let mut indexes: HashMap<_, _> = indexes.map(|(found, index)| (found.id, index)).collect();
    for (id, turn) in waiting {
        let index = *indexes.entry(id).or_insert(conversations.len());
        if index == conversations.len() {
            conversations.push(swept(id, None, None));
        }
        conversations[index].waiting.push(turn);
    }
    conversations
}
