//! The user that the conversation of a turn belongs to.

use std::{
    collections::{HashMap, VecDeque},
    sync::Arc,
};

use domain::{ConversationId, Seq, TenantId};
use parking_lot::RwLock;

use super::TurnSubject;

/// The maximum number of moves that are remembered for turns that are registered later.
const MAX_MOVES: usize = 1_024;

/// The user that the conversation of a turn belongs to. The conversation can move to another user while
/// the turn runs, so clones share it.
#[derive(Debug, Clone, Default)]
pub struct TurnUser(Arc<RwLock<Option<Arc<str>>>>);

impl TurnUser {
    /// Returns the user's id, if there is a user.
    pub fn get(&self) -> Option<Arc<str>> {
        self.0.read().clone()
    }

    pub(super) fn set(&self, user_id: Option<&str>) {
        *self.0.write() = user_id.map(Arc::from);
    }
}

impl From<Option<String>> for TurnUser {
    fn from(user_id: Option<String>) -> Self {
        Self(Arc::new(RwLock::new(user_id.map(Arc::from))))
    }
}

impl PartialEq for TurnUser {
    fn eq(&self, other: &Self) -> bool {
        self.get() == other.get()
    }
}

impl Eq for TurnUser {}

type Key = (TenantId, ConversationId);

/// The newest moves of conversations to other users. A turn may be registered with a user that was read
/// before the move.
#[derive(Debug, Default)]
pub(super) struct RecentMoves {
    moves: HashMap<Key, Move>,
    order: VecDeque<Key>,
}

#[derive(Debug, Clone)]
struct Move {
    user_id: Option<Arc<str>>,
    position: Seq,
}

impl RecentMoves {
    /// Records a move. Returns false if it is known, or a later one of the conversation is.
    pub(super) fn record(&mut self, key: &Key, user_id: Option<&str>, position: Seq) -> bool {
        let moved = Move {
            user_id: user_id.map(Arc::from),
            position,
        };
        if let Some(known) = self.moves.get_mut(key) {
            let is_newer = known.position < position;
            if is_newer {
                *known = moved;
            }
            return is_newer;
        }
        if self.order.len() == MAX_MOVES
            && let Some(oldest) = self.order.pop_front()
        {
            self.moves.remove(&oldest);
        }
        self.order.push_back(key.clone());
        self.moves.insert(key.clone(), moved);
        true
    }

    /// Returns whether the move at `position` or a later one of the conversation is known.
    pub(super) fn contain(&self, key: &Key, position: Seq) -> bool {
        let known = self.moves.get(key);
        known.is_some_and(|known| known.position >= position)
    }

    /// Sets the user of a turn whose conversation has moved.
    pub(super) fn correct(&self, subject: &TurnSubject) {
        if self.moves.is_empty() {
            return;
        }
        let key = (subject.tenant.clone(), subject.conversation_id);
        if let Some(moved) = self.moves.get(&key) {
            subject.user.set(moved.user_id.as_deref());
        }
    }
}
