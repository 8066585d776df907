//! The replies that other nodes have requested.

use std::collections::HashMap;

use domain::{ConversationId, TenantId};
use tokio::time::Instant;

use super::REQUEST_EXPIRES_AFTER;
use crate::live_turns::TurnSubject;

/// The conversations whose replies other nodes have requested, with the end of the request. The key
/// `None` stands for all conversations of a tenant.
#[derive(Default)]
pub(super) struct RequestedReplies(HashMap<TenantId, HashMap<Option<ConversationId>, Instant>>);

impl RequestedReplies {
    /// Adds or extends requests, and returns those that are new.
    pub(super) fn add(
        &mut self,
        tenant: &TenantId,
        conversations: &[Option<ConversationId>],
    ) -> Vec<Option<ConversationId>> {
        let expires_at = Instant::now() + REQUEST_EXPIRES_AFTER;
        let requested = self.0.entry(tenant.clone()).or_default();
        let mut new = Vec::new();
        for conversation in conversations {
            if requested.insert(*conversation, expires_at).is_none() {
                new.push(*conversation);
            }
        }
        new
    }

    /// Removes expired requests.
    pub(super) fn expire(&mut self) {
        let now = Instant::now();
        self.0.retain(|_, requested| {
            requested.retain(|_, expires_at| *expires_at > now);
            !requested.is_empty()
        });
    }

    /// Returns whether the reply of this turn is requested.
    pub(super) fn includes(&self, turn: &TurnSubject) -> bool {
        let requested = self.0.get(&turn.tenant);
        requested.is_some_and(|requested| {
            [None, Some(turn.conversation_id)]
                .iter()
                .any(|it| requested.contains_key(it))
        })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
