//! Changes of existing conversations.

use domain::{
    Conversation, ConversationDraft, ConversationId, FaultCode, Handler, InputFault, Listed,
    Principal, Stamp, TitleSource, merge_patch,
};
use ports::RepositoryError;
use serde_json::Value;
use writes::UpdateConversation;

use super::{ConversationError, ConversationService, shown};
use crate::VersionCondition;

/// The number of attempts at a change while other processes keep changing the same conversation.
pub(super) const CHANGE_ATTEMPTS: usize = 100;

impl ConversationService {
    /// Applies a JSON merge patch that matches its schema.
    pub async fn patch(
        &self,
        caller: &Principal,
        id: ConversationId,
        patch: &Value,
        condition: &VersionCondition,
    ) -> Result<Listed<Conversation>, ConversationError> {
        self.check_rights(caller, id, patch).await?;
        // After a first conflict, the changes of this process run one after the other.
        let mut permit = None;
        for _ in 0..CHANGE_ATTEMPTS {
            let current = self.find(caller, id).await?.value;
            if !condition.accepts(current.item.version) {
                return Err(ConversationError::VersionMismatch);
            }
            let draft = patched(&current.item, patch)?;
            let now = self.ports.clock.now();
            let Some(changed) = current.item.changed_to(draft, now) else {
                return Ok(shown(current, caller));
            };
            let stamp = Stamp {
                time: now,
                actor: caller.id.clone(),
            };
            let update = UpdateConversation {
                tenant: caller.tenant.clone(),
                conversation: changed,
                stamp,
            };
            match self.ports.writes.write(update).await {
                Ok(Some((committed, stored))) => {
                    let stored = Listed {
                        item: stored,
                        sort_seq: committed.last,
                    };
                    return Ok(shown(stored, caller));
                }
                Ok(None) => return Err(ConversationError::NotFound),
                Err(RepositoryError::Conflict { .. }) => return Err(ConversationError::KeyInUse),
                Err(RepositoryError::Stale { .. }) if permit.is_some() => {}
                Err(RepositoryError::Stale { .. }) => {
                    permit = Some(self.contended.acquire((caller.tenant.clone(), id)).await);
                }
                Err(error) => return Err(error.into()),
            }
        }
        Err(ConversationError::Contended)
    }

    /// Checks that the caller may change the members of a patch. Users may hand a conversation over to staff
    /// if its agent allows that.
    async fn check_rights(
        &self,
        caller: &Principal,
        id: ConversationId,
        patch: &Value,
    ) -> Result<(), ConversationError> {
        let has = |member: &str| patch.get(member).is_some();
        let is_of_staff = ["context", "assignee", "userId"].into_iter().any(has);
        let handler = patch.get("handledBy");
        let Some(scope) = caller.lacks_to_act_as_staff() else {
            return Ok(());
        };
        if !is_of_staff && handler.is_none() {
            return Ok(());
        }
        let state = self.find_accessible(caller, id).await?;
        let hands_over = handler.is_some_and(|handler| handler == Handler::Staff.as_str());
        if !is_of_staff && hands_over {
            let agents = &self.ports.agents;
            let agent = agents.find(&caller.tenant, state.agent_id).await?.value;
            if agent.is_some_and(|agent| agent.config.allow_hand_over == Some(true)) {
                return Ok(());
            }
        }
        Err(ConversationError::NotPermitted(scope))
    }
}

fn patched(current: &Conversation, patch: &Value) -> Result<ConversationDraft, ConversationError> {
    let mut document = serde_json::to_value(current.draft()).unwrap_or_default();
    merge_patch::apply(&mut document, patch.clone());
    let mut draft: ConversationDraft = serde_json::from_value(document).map_err(|_shape| {
        let detail = "the patch does not fit the conversation";
        ConversationError::Invalid(vec![InputFault::new("", FaultCode::NotCombinable, detail)])
    })?;
    // A person decides about the title also by sending the same one, or none.
    draft.title_source = match patch.get("title") {
        Some(_) => Some(TitleSource::Person),
        None => current.title_source,
    };
    let faults = draft.check();
    if faults.is_empty() {
        Ok(draft)
    } else {
        Err(ConversationError::Invalid(faults))
    }
}
