//! Following the turn of a conversation that a client did not start, or whose stream it has lost.

use std::{sync::Arc, time::Duration};

use domain::{ConversationId, Principal, TurnId};
use ports::FoundTurn;

use super::{ChatContext, accepted_turn::AcceptedTurn, command::ChatError};
use crate::live_turns::TurnWaiter;

/// The time for which the newest turn can be followed after its end.
const REPLAYED_FOR: Duration = Duration::from_mins(10);

impl ChatContext {
    /// Returns the running turn of a conversation, or else the first queued one, or else the newest,
    /// if it has ended recently. Returns `None` if the caller may not follow it.
    pub(super) async fn current_turn(
        &self,
        caller: &Principal,
        conversation: ConversationId,
    ) -> Result<Option<AcceptedTurn>, ChatError> {
        let (ports, tenant) = (&self.ports, &caller.tenant);
        self.check_access(caller, conversation).await?;
        let found = ports.turns.find_current(tenant, conversation).await?;
        Ok(found
            .filter(|found| self.may_be_followed(found) && caller.may_follow(&found.principal))
            .map(|found| {
                let turn = found.turn.clone();
                let live = self.live.get_or_register_found(tenant, found);
                let waiter = TurnWaiter::new(live, Arc::clone(&ports.turns));
                AcceptedTurn::replayed(waiter, Some(turn), caller.audience())
            }))
    }

    /// Checks that a conversation exists and that the caller can reach it.
    pub(super) async fn check_access(
        &self,
        caller: &Principal,
        conversation: ConversationId,
    ) -> Result<(), ChatError> {
        let conversations = &self.ports.conversations;
        let found = conversations.find_state(&caller.tenant, conversation);
        let found = found.await?.value;
        if found.is_some_and(|found| caller.may_reach(found.user_id.as_deref(), found.agent_id)) {
            return Ok(());
        }
        Err(ChatError::ConversationNotFound)
    }

    /// Returns a turn of any state.
    pub(super) async fn find_turn(
        &self,
        caller: &Principal,
        id: TurnId,
    ) -> Result<Option<AcceptedTurn>, ChatError> {
        let (ports, tenant) = (&self.ports, &caller.tenant);
        // A turn that has ended is read again, since only the store knows whether it was deleted.
        let known = self.live.get(id).filter(|live| {
            let subject = live.subject();
            let is_of_tenant = subject.tenant == *tenant && !subject.is_ephemeral;
            is_of_tenant && !live.has_ended()
        });
        let (live, found) = if let Some(live) = known {
            (live, None)
        } else {
            let Some(found) = ports.turns.find(tenant, id).await?.value else {
                return Ok(None);
            };
            let turn = found.turn.clone();
            let live = self.live.get_or_register_found(tenant, found);
            (live, Some(turn))
        };
        let subject = live.subject();
        if !caller.may_reach(subject.user.get().as_deref(), subject.agent_id) {
            return Ok(None);
        }
        let waiter = TurnWaiter::new(live, Arc::clone(&ports.turns));
        Ok(Some(AcceptedTurn::replayed(
            waiter,
            found,
            caller.audience(),
        )))
    }

    fn may_be_followed(&self, found: &FoundTurn) -> bool {
        let now = self.ports.clock.now();
        let ended_at = found.turn.finished_at;
        ended_at.is_none_or(|ended_at| now < ended_at + REPLAYED_FOR)
    }
}
