//! A cache of conversation states and names, and the writes that change it.

use std::sync::Arc;

use async_trait::async_trait;
use domain::{
    AsOf, Conversation, ConversationId, ConversationState, HistoryMessage, Listed, Message, Page,
    Seq, TenantId,
};
use ports::{
    Clock, ConversationName, ConversationQuery, ConversationRepository, ConversationScan,
    ConversationText, FoundMessage, HistoryQuery, Idempotent, MessageQuery, MessageReference,
    RepositoryError, ScannedConversations,
};
use writes::{
    ChangeStaffMessage, Committed, CreateConversation, CreateNote, CreateNoteOutcome,
    DeleteConversation, DeleteNote, DeleteOutcome, RateMessage, RateOutcome, StaffMessageOutcome,
    TitleConversation, UpdateConversation, WriteStaffMessage,
};

use super::{AnnouncedCommand, CachedCommand, Caches};

/// A [`ConversationRepository`] that caches the results of `find_state` and `find_by_name`.
pub struct CachedConversations {
    inner: Arc<dyn ConversationRepository>,
    caches: Caches,
    clock: Arc<dyn Clock>,
}

impl CachedConversations {
    /// Creates a cache in front of `inner`.
    pub fn new(
        inner: Arc<dyn ConversationRepository>,
        caches: Caches,
        clock: Arc<dyn Clock>,
    ) -> Self {
        Self {
            inner,
            caches,
            clock,
        }
    }
}

#[async_trait]
impl ConversationRepository for CachedConversations {
    async fn find(
        &self,
        tenant: &TenantId,
        id: ConversationId,
    ) -> Result<AsOf<Option<Listed<Conversation>>>, RepositoryError> {
        self.inner.find(tenant, id).await
    }

    /// A cached id is used only if the conversation still exists, and still belongs to the user.
    async fn find_by_name(
        &self,
        tenant: &TenantId,
        name: &ConversationName,
    ) -> Result<Option<ConversationId>, RepositoryError> {
        let key = (tenant.clone(), name.clone());
        if let Some(id) = self.caches.names.get(&key) {
            let state = self.find_state(tenant, id).await?.value;
            if state.is_some_and(|state| state.user_id == name.user_id) {
                return Ok(Some(id));
            }
            self.caches.names.remove(&key);
        }
        let found = self.inner.find_by_name(tenant, name).await?;
        if let Some(id) = found {
            self.caches.names.insert(key, id);
        }
        Ok(found)
    }

    async fn find_state(
        &self,
        tenant: &TenantId,
        id: ConversationId,
    ) -> Result<AsOf<Option<Arc<ConversationState>>>, RepositoryError> {
        let key = (tenant.clone(), id);
        // The position is read before the entry. In the other order, a client that follows the log
        // from the returned position could miss a change between the two reads.
        let log_position = self.caches.applied.position(tenant).unwrap_or(Seq(0));
        if self.caches.applied.is_trusted(self.clock.running_for())
            && let Some((state, entry_position)) = self.caches.states.get(&key)
        {
            let position = log_position.max(entry_position);
            return Ok(AsOf {
                value: Some(state),
                position,
            });
        }
        let load = self.caches.states.begin_load(&key);
        let found = self.inner.find_state(tenant, id).await?;
        if let Some(state) = &found.value
            && self.caches.applied.follow(tenant, found.position)
        {
            self.caches
                .states
                .fill(load, key, Arc::clone(state), found.position);
        }
        Ok(found)
    }

    async fn find_context(
        &self,
        tenant: &TenantId,
        id: ConversationId,
    ) -> Result<AsOf<Option<Arc<str>>>, RepositoryError> {
        let key = (tenant.clone(), id);
        if self.caches.applied.is_trusted(self.clock.running_for())
            && let Some((context, position)) = self.caches.contexts.get(&key)
        {
            let value = (*context).clone();
            return Ok(AsOf { value, position });
        }
        let load = self.caches.contexts.begin_load(&key);
        let found = self.inner.find_context(tenant, id).await?;
        if self.caches.applied.follow(tenant, found.position) {
            let context = Arc::new(found.value.clone());
            self.caches
                .contexts
                .fill(load, key, context, found.position);
        }
        Ok(found)
    }

    async fn list(
        &self,
        tenant: &TenantId,
        query: &ConversationQuery,
    ) -> Result<AsOf<Page<Listed<Conversation>>>, RepositoryError> {
        self.inner.list(tenant, query).await
    }

    async fn find_all(
        &self,
        tenant: &TenantId,
        ids: &[ConversationId],
    ) -> Result<AsOf<Vec<Conversation>>, RepositoryError> {
        self.inner.find_all(tenant, ids).await
    }

    async fn texts(
        &self,
        tenant: &TenantId,
        places: &[(ConversationId, i64)],
    ) -> Result<Vec<ConversationText>, RepositoryError> {
        self.inner.texts(tenant, places).await
    }

    async fn scan(
        &self,
        tenant: &TenantId,
        scan: &ConversationScan,
    ) -> Result<AsOf<ScannedConversations>, RepositoryError> {
        self.inner.scan(tenant, scan).await
    }

    async fn find_message(
        &self,
        tenant: &TenantId,
        id: ConversationId,
        message: &MessageReference,
    ) -> Result<Option<FoundMessage>, RepositoryError> {
        self.inner.find_message(tenant, id, message).await
    }

    async fn messages(
        &self,
        tenant: &TenantId,
        id: ConversationId,
        query: &MessageQuery,
    ) -> Result<AsOf<Option<Page<Message>>>, RepositoryError> {
        self.inner.messages(tenant, id, query).await
    }

    async fn history(
        &self,
        tenant: &TenantId,
        id: ConversationId,
        query: &HistoryQuery,
    ) -> Result<Vec<HistoryMessage>, RepositoryError> {
        self.inner.history(tenant, id, query).await
    }
}

impl CachedCommand for CreateConversation {
    type Before = (
        TenantId,
        ConversationState,
        Option<Arc<str>>,
        Option<ConversationId>,
    );

    fn before(&self, _caches: &Caches) -> Self::Before {
        let conversation = &self.conversation;
        let state = ConversationState {
            id: conversation.id,
            agent_id: conversation.agent_id,
            user_id: conversation.user_id.clone(),
            last_message_seq: conversation.message_count,
            turn_count: 0,
            running_turn: None,
            newest_message: None,
        };
        let copied = self.first_messages.copied_from();
        let context = conversation.context.as_deref().map(Arc::from);
        (self.tenant.clone(), state, context, copied)
    }

    fn apply(
        (tenant, state, context, copied): Self::Before,
        caches: &Caches,
        outcome: &Result<Self::Outcome, RepositoryError>,
    ) {
        match outcome {
            Ok(Idempotent::Applied(Some(committed))) => {
                caches.applied.record_write(&tenant, *committed);
                let key = (tenant, state.id);
                let context = Arc::new(context);
                caches
                    .contexts
                    .replace(key.clone(), context, committed.last);
                let state = Arc::new(state);
                caches.states.replace(key, state, committed.last);
            }
            Err(RepositoryError::Stale { .. }) => {
                if let Some(copied) = copied {
                    // Its turn count may be outdated.
                    caches.states.remove(&(tenant, copied));
                }
            }
            Ok(_) | Err(_) => {}
        }
    }
}

impl CachedCommand for UpdateConversation {
    type Before = TenantId;

    fn before(&self, _caches: &Caches) -> Self::Before {
        self.tenant.clone()
    }

    /// Title, metadata and context are not part of a state; the user is.
    fn apply(
        tenant: Self::Before,
        caches: &Caches,
        outcome: &Result<Self::Outcome, RepositoryError>,
    ) {
        if let Ok(Some((committed, stored))) = outcome {
            let context = Arc::new(stored.context.as_deref().map(Arc::from));
            let key = (tenant, stored.id);
            caches
                .contexts
                .replace(key.clone(), context, committed.last);
            let known = caches.states.get(&key);
            if known.is_none_or(|(state, _)| state.user_id != stored.user_id) {
                let user_id = stored.user_id.as_deref();
                caches.move_conversation(&key, user_id, committed.last);
            }
            caches.applied.record_write(&key.0, *committed);
        }
    }
}

impl CachedCommand for WriteStaffMessage {
    type Before = (TenantId, ConversationId);

    fn before(&self, _caches: &Caches) -> Self::Before {
        (self.tenant.clone(), self.message.conversation_id)
    }

    fn apply(key: Self::Before, caches: &Caches, outcome: &Result<Self::Outcome, RepositoryError>) {
        caches.states.remove(&key);
        if let Ok(StaffMessageOutcome::Written(committed, _)) = outcome {
            caches.applied.record_write(&key.0, *committed);
        }
    }
}

impl CachedCommand for ChangeStaffMessage {
    type Before = (TenantId, ConversationId);

    fn before(&self, _caches: &Caches) -> Self::Before {
        (self.tenant.clone(), self.found.message.conversation_id)
    }

    fn apply(key: Self::Before, caches: &Caches, outcome: &Result<Self::Outcome, RepositoryError>) {
        caches.states.remove(&key);
        if let Ok(Some((committed, _))) = outcome {
            caches.applied.record_write(&key.0, *committed);
        }
    }
}

impl AnnouncedCommand for RateMessage {
    fn tenant(&self) -> &TenantId {
        &self.tenant
    }

    fn committed(outcome: &Self::Outcome) -> Option<Committed> {
        match outcome {
            RateOutcome::Rated { committed, .. } => *committed,
            RateOutcome::NotFound | RateOutcome::MessageNotFound => None,
        }
    }
}

/// A title is not cached.
impl AnnouncedCommand for TitleConversation {
    fn tenant(&self) -> &TenantId {
        &self.tenant
    }

    fn committed(outcome: &Self::Outcome) -> Option<Committed> {
        outcome.as_ref().map(|(committed, _)| *committed)
    }
}

impl AnnouncedCommand for CreateNote {
    fn tenant(&self) -> &TenantId {
        &self.tenant
    }

    fn committed(outcome: &Self::Outcome) -> Option<Committed> {
        match outcome {
            CreateNoteOutcome::Written(committed) => Some(*committed),
            CreateNoteOutcome::Replayed(_)
            | CreateNoteOutcome::NoConversation
            | CreateNoteOutcome::FileUnusable(_) => None,
        }
    }
}

impl AnnouncedCommand for DeleteNote {
    fn tenant(&self) -> &TenantId {
        &self.note.tenant
    }

    fn committed(outcome: &Self::Outcome) -> Option<Committed> {
        *outcome
    }
}

impl CachedCommand for DeleteConversation {
    type Before = (TenantId, ConversationId);

    fn before(&self, _caches: &Caches) -> Self::Before {
        (self.tenant.clone(), self.id)
    }

    fn apply(key: Self::Before, caches: &Caches, outcome: &Result<Self::Outcome, RepositoryError>) {
        caches.states.remove(&key);
        caches.contexts.remove(&key);
        if let Ok(DeleteOutcome::Deleted(committed)) = outcome {
            caches.live.cancel_of_conversation(&key.0, key.1);
            caches.applied.record_write(&key.0, *committed);
        }
    }
}
