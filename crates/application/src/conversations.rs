//! The use cases of conversations: create, read, change, delete.

mod creating;
mod error;
mod feedback;
mod forking;
mod importing;
mod listing;
mod notes;
mod searching;
mod staff_messages;
mod update;

use std::sync::Arc;

use domain::{
    AgentId, AsOf, Conversation, ConversationId, ConversationKey, ConversationState, Listed,
    Principal, Stamp, TenantId,
};
use ports::{ConversationName, FeedbackRepository, NoteRepository, RepositoryError, SearchIndex};
use update::CHANGE_ATTEMPTS;
use writes::{DeleteConversation, DeleteOutcome};

use crate::{KeyedSemaphore, VersionCondition, cache::CachedPorts};

pub use creating::{CreatedConversation, NewConversation};
pub use error::ConversationError;
pub use feedback::FeedbackListing;
pub use forking::Fork;
pub use listing::ConversationListing;
pub use searching::FoundConversations;

/// The use cases of conversations: create, read, change, delete.
pub struct ConversationService {
    ports: CachedPorts,
    notes: Arc<dyn NoteRepository>,
    feedback: Arc<dyn FeedbackRepository>,
    search: Arc<dyn SearchIndex>,
    contended: KeyedSemaphore<(TenantId, ConversationId)>,
}

impl ConversationService {
    /// Creates a service over these ports.
    pub fn new(
        ports: CachedPorts,
        notes: Arc<dyn NoteRepository>,
        feedback: Arc<dyn FeedbackRepository>,
        search: Arc<dyn SearchIndex>,
    ) -> Self {
        Self {
            ports,
            notes,
            feedback,
            search,
            contended: KeyedSemaphore::new(1),
        }
    }

    /// Reads a conversation as its caller sees it. Its position changes with everything in it, and never
    /// comes back.
    pub async fn get(
        &self,
        caller: &Principal,
        id: ConversationId,
    ) -> Result<AsOf<Listed<Conversation>>, ConversationError> {
        let found = self.find(caller, id).await?;
        Ok(found.map(|found| shown(found, caller)))
    }

    /// Reads a whole conversation that the caller can reach.
    async fn find(
        &self,
        caller: &Principal,
        id: ConversationId,
    ) -> Result<AsOf<Listed<Conversation>>, ConversationError> {
        let found = self.ports.conversations.find(&caller.tenant, id).await?;
        let conversation = found
            .value
            .filter(|found| caller.may_reach(found.item.user_id.as_deref(), found.item.agent_id))
            .ok_or(ConversationError::NotFound)?;
        Ok(AsOf {
            value: conversation,
            position: found.position,
        })
    }

    /// Checks that a conversation exists and that the caller may access it, and returns its
    /// state without reading all of it.
    pub async fn find_accessible(
        &self,
        caller: &Principal,
        id: ConversationId,
    ) -> Result<Arc<ConversationState>, ConversationError> {
        let found = self
            .ports
            .conversations
            .find_state(&caller.tenant, id)
            .await?;
        found
            .value
            .filter(|state| caller.may_reach(state.user_id.as_deref(), state.agent_id))
            .ok_or(ConversationError::NotFound)
    }

    /// Finds the conversation with a name of a client.
    pub async fn find_named(
        &self,
        caller: &Principal,
        agent_id: AgentId,
        user_id: Option<&str>,
        key: ConversationKey,
    ) -> Result<Option<ConversationId>, ConversationError> {
        let name = ConversationName {
            agent_id,
            user_id: own_user_id(caller, user_id)?,
            key,
        };
        if !caller.agents.contains(agent_id) {
            return Err(ConversationError::AgentNotFound);
        }
        let conversations = &self.ports.conversations;
        Ok(conversations.find_by_name(&caller.tenant, &name).await?)
    }

    /// Deletes a conversation with its messages.
    pub async fn delete(
        &self,
        caller: &Principal,
        id: ConversationId,
        condition: &VersionCondition,
    ) -> Result<(), ConversationError> {
        if caller.is_confined() {
            self.find_accessible(caller, id).await?;
        }
        for _ in 0..CHANGE_ATTEMPTS {
            let expected = self.accepted_version(caller, id, condition).await?;
            let stamp = Stamp {
                time: self.ports.clock.now(),
                actor: caller.id.clone(),
            };
            let delete = DeleteConversation {
                tenant: caller.tenant.clone(),
                id,
                expected,
                only_of: caller.confined_to().map(ToOwned::to_owned),
                is_erasure: false,
                idle_since_before: None,
                stamp,
            };
            match self.ports.writes.write(delete).await {
                Ok(DeleteOutcome::Deleted(_)) => return Ok(()),
                Ok(DeleteOutcome::NotFound) => return Err(ConversationError::NotFound),
                Err(RepositoryError::Stale { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(ConversationError::Contended)
    }

    /// Returns the stored version if `condition` accepts it; `None` if it accepts any.
    async fn accepted_version(
        &self,
        caller: &Principal,
        id: ConversationId,
        condition: &VersionCondition,
    ) -> Result<Option<i64>, ConversationError> {
        if *condition == VersionCondition::Any {
            return Ok(None);
        }
        let version = self.get(caller, id).await?.value.item.version;
        if condition.accepts(version) {
            Ok(Some(version))
        } else {
            Err(ConversationError::VersionMismatch)
        }
    }
}

/// Returns what a caller sees of a conversation.
fn shown(found: Listed<Conversation>, caller: &Principal) -> Listed<Conversation> {
    Listed {
        item: found.item.shown_to(caller),
        sort_seq: found.sort_seq,
    }
}

/// Returns the effective user id: the own id of a confined caller, even if the request names none.
pub(crate) fn own_user_id(
    caller: &Principal,
    named: Option<&str>,
) -> Result<Option<String>, ConversationError> {
    match (caller.confined_to(), named) {
        (Some(own), Some(named)) if own != named => Err(ConversationError::ForeignUser),
        (Some(own), _) => Ok(Some(own.to_owned())),
        (None, named) => Ok(named.map(ToOwned::to_owned)),
    }
}
