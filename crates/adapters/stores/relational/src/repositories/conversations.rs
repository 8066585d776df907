//! Conversations.

use std::sync::Arc;

use async_trait::async_trait;
use domain::{
    AsOf, Conversation, ConversationId, ConversationState, HistoryMessage, Listed, Message, Page,
    TenantId, Timestamp,
};
use ports::{
    ConversationName, ConversationQuery, ConversationRepository, ConversationScan,
    ConversationText, FoundMessage, Handling, HistoryQuery, MessageQuery, MessageReference,
    RepositoryError, ScannedConversations,
};
use uuid::Uuid;

use super::{
    Repositories,
    conversation_scans::{self, ConversationScanSql},
    histories,
    messages::{self, MessageSql},
};
use crate::{
    Parameter, Store, agent_ids, page_budget, parameters,
    read::{self, ListedRow, ReadAs},
    statements,
    stored::{StoredConversation, StoredState, StoredText},
};

/// The statements on conversations. The first parameter is the tenant.
pub trait ConversationSql:
    Store<
    Row: ReadAs<ListedRow<StoredConversation>>
             + ReadAs<StoredConversation>
             + ReadAs<StoredState>
             + ReadAs<StoredText>
             + ReadAs<(Uuid,)>,
>
{
    statements! {
        /// The tenant's head, and conversation 2.
        const FIND: &'static str;

        /// The tenant's head, and the part of conversation 2 that a chat needs.
        const FIND_STATE: &'static str;

        /// The id of the conversation with agent 2, user 3 (empty for none) and key 4.
        const FIND_BY_NAME: &'static str;

        /// The tenant's head, and at most 2 conversations before the position and id 3 and 4, with one of
        /// agents 5.
        const LIST: &'static str;

        /// Those with agent 5 alone.
        const LIST_OF_AGENT: &'static str;

        /// Those of user 6 with one of agents 5.
        const LIST_OF_USER: &'static str;

        /// Those that staff handles, with one of agents 5, and by member 7 if that is given.
        const LIST_OF_STAFF: &'static str;

        /// Those that the agent handles, with one of agents 5.
        const LIST_WITHOUT_STAFF: &'static str;

        /// Those of user 6 that 8 handles, with one of agents 5, and by member 7 if that is given.
        const LIST_OF_USER_AND_HANDLER: &'static str;

        /// The tenant's head, and conversations 2.
        const FIND_ALL: &'static str;

        /// The texts of the messages in conversations 2 with the positions 3.
        const TEXTS: &'static str;

        /// At most 2 conversations that wait for staff, after the time and id 3 and 4, with the same filters.
        const LIST_WAITING: &'static str;
    }
}

#[async_trait]
impl<S: ConversationSql + ConversationScanSql + MessageSql> ConversationRepository
    for Repositories<S>
{
    async fn find(
        &self,
        tenant: &TenantId,
        id: ConversationId,
    ) -> Result<AsOf<Option<Listed<Conversation>>>, RepositoryError> {
        let statement = <S as ConversationSql>::FIND;
        let parameters = parameters![tenant, id];
        let found = self.0.fetch_optional(statement, parameters).await?;
        let convert = |row: StoredConversation| row.try_into();
        read::as_of_listed("conversations", found.as_ref(), convert)
    }

    async fn find_by_name(
        &self,
        tenant: &TenantId,
        name: &ConversationName,
    ) -> Result<Option<ConversationId>, RepositoryError> {
        let user = name.user_id.as_deref().unwrap_or_default();
        let parameters = parameters![tenant, name.agent_id, user, name.key.as_str()];
        let found = self.0.fetch_optional(S::FIND_BY_NAME, parameters).await?;
        let convert = |(id,): (Uuid,)| Ok(ConversationId::new(id));
        read::one("conversations", found, convert)
    }

    async fn find_all(
        &self,
        tenant: &TenantId,
        ids: &[ConversationId],
    ) -> Result<AsOf<Vec<Conversation>>, RepositoryError> {
        let ids: Vec<_> = ids.iter().map(|id| id.uuid()).collect();
        let rows = self
            .0
            .fetch_all(S::FIND_ALL, parameters![tenant, &*ids])
            .await?;
        let convert = |row: StoredConversation| row.try_into();
        read::as_of_many("conversations", &rows, convert)
    }

    async fn texts(
        &self,
        tenant: &TenantId,
        places: &[(ConversationId, i64)],
    ) -> Result<Vec<ConversationText>, RepositoryError> {
        let ids: Vec<_> = places.iter().map(|(id, _)| id.uuid()).collect();
        let seqs: Vec<_> = places.iter().map(|(_, seq)| *seq).collect();
        let parameters = parameters![tenant, &*ids, &*seqs];
        let rows = self.0.fetch_all(S::TEXTS, parameters).await?;
        read::rows("messages", rows, |row: StoredText| Ok(row.into()))
    }

    async fn find_message(
        &self,
        tenant: &TenantId,
        id: ConversationId,
        message: &MessageReference,
    ) -> Result<Option<FoundMessage>, RepositoryError> {
        messages::find(&self.0, tenant, id, message).await
    }

    async fn find_state(
        &self,
        tenant: &TenantId,
        id: ConversationId,
    ) -> Result<AsOf<Option<Arc<ConversationState>>>, RepositoryError> {
        let parameters = parameters![tenant, id];
        let found = self.0.fetch_optional(S::FIND_STATE, parameters).await?;
        let convert = |row: StoredState| Ok(Arc::new(row.into()));
        read::as_of_one("conversations", found.as_ref(), convert)
    }

    async fn list(
        &self,
        tenant: &TenantId,
        query: &ConversationQuery,
    ) -> Result<AsOf<Page<Listed<Conversation>>>, RepositoryError> {
        let agents = agent_ids(&query.filter.agents);
        let (statement, parameters) = listing::<S>(tenant, query, agents.as_deref());
        let rows = self.0.fetch_all(statement, &parameters).await?;
        let convert = |row: StoredConversation| row.try_into();
        read::as_of_listing("conversations", &rows, query.limit, convert)
    }

    async fn scan(
        &self,
        tenant: &TenantId,
        scan: &ConversationScan,
    ) -> Result<AsOf<ScannedConversations>, RepositoryError> {
        conversation_scans::page(&self.0, tenant, scan).await
    }

    async fn messages(
        &self,
        tenant: &TenantId,
        id: ConversationId,
        query: &MessageQuery,
    ) -> Result<AsOf<Option<Page<Message>>>, RepositoryError> {
        messages::page(&self.0, tenant, id, query).await
    }

    async fn history(
        &self,
        tenant: &TenantId,
        id: ConversationId,
        query: &HistoryQuery,
    ) -> Result<Vec<HistoryMessage>, RepositoryError> {
        histories::find(&self.0, tenant, id, query).await
    }
}

/// Returns the statement of a listing, and its parameters.
fn listing<'q, S: ConversationSql>(
    tenant: &'q TenantId,
    query: &'q ConversationQuery,
    agents: Option<&'q [Uuid]>,
) -> (&'static str, Vec<Parameter<'q>>) {
    let user = query.filter.user_id.as_deref();
    let limit = page_budget::one_more(query.limit);
    let after = |first: (i64, Uuid)| query.after.map_or(first, |it| (it.key, it.id.uuid()));
    let (before, id) = after((i64::MAX, Uuid::max()));
    let mut parameters = parameters![tenant, limit, before, id].to_vec();
    let Some(handling) = &query.filter.handling else {
        let (statement, agents) = match (agents, user) {
            (Some([agent]), None) => (S::LIST_OF_AGENT, Parameter::from(*agent)),
            (agents, None) => (S::LIST, Parameter::Ids(agents)),
            (agents, Some(_)) => (S::LIST_OF_USER, Parameter::Ids(agents)),
        };
        parameters.push(agents);
        parameters.extend(user.map(Parameter::from));
        return (statement, parameters);
    };
    if let (Some(user), Some((handler, assignee))) = (user, handling.by_activity()) {
        let assignee = Parameter::from(assignee);
        parameters.extend([
            Parameter::Ids(agents),
            user.into(),
            assignee,
            handler.into(),
        ]);
        return (S::LIST_OF_USER_AND_HANDLER, parameters);
    }
    let (statement, assignee) = match handling {
        Handling::Agent => (S::LIST_WITHOUT_STAFF, None),
        Handling::Staff(assignee) => (S::LIST_OF_STAFF, assignee.as_deref()),
        Handling::Waiting(assignee) => {
            let (since, id) = after((0, Uuid::nil()));
            let since = Timestamp::from_milliseconds(since);
            parameters = parameters![tenant, limit, since, id].to_vec();
            (S::LIST_WAITING, assignee.as_deref())
        }
    };
    parameters.extend([Parameter::Ids(agents), user.into(), assignee.into()]);
    (statement, parameters)
}
