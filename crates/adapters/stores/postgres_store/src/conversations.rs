//! Conversations.

use std::sync::Arc;

use domain::{
    AsOf, Conversation, ConversationContext, ConversationId, HistoryMessage, Listed, Message, Page,
    TenantId,
};
use ports::{
    ConversationName, ConversationQuery, HistoryQuery, MessageQuery, MessageReference,
    RepositoryError,
};
use relational::{
    conversation_columns, page_budget, read,
    repositories::ConversationSql,
    stored::{StoredContext, StoredConversation, StoredFoundMessage},
};
use uuid::Uuid;

use crate::{
    PostgresStore,
    fragments::{open_turns, visible},
    messages,
};

/// A page of conversations joined to the tenant's head, so that both come from the same snapshot.
macro_rules! list {
    ($filter:literal) => {
        concat!(
            "select t.head_seq, c.total, ",
            conversation_columns!(open_turns!()),
            " from tenants t left join ",
            page_budget!(
                concat!(
                    "select c.*, octet_length(c.metadata::text) \
                     + coalesce(octet_length(c.title), 0) as bytes \
                     from conversations c where c.tenant_id = $1 \
                     and (c.sort_seq, c.id) < ($3, $4) and c.deleted_at is null and ",
                    visible!(),
                    $filter,
                    " order by c.sort_seq desc, c.id desc limit $2"
                ),
                "sort_seq desc, id desc"
            ),
            " c on true where t.id = $1 order by c.place"
        )
    };
}

const FIND: &str = concat!(
    "select t.head_seq, ",
    conversation_columns!(open_turns!()),
    " from tenants t left join conversations c on c.tenant_id = t.id and c.id = $2 and ",
    visible!(),
    " where t.id = $1"
);
const FIND_CONTEXT: &str = concat!(
    "select t.head_seq, c.id, c.agent_id, c.user_id, c.message_count as last_message_seq, c.turn_count, \
     (select (array_agg(r.id) filter (where r.status = 'in_progress'))[1] from turns r \
        where r.tenant_id = c.tenant_id and r.agent_id = c.agent_id \
        and r.conversation_id = c.id and r.status in ('queued', 'in_progress')) as running_turn, \
     newest.message_id as newest_message_id, newest.client_message_id as newest_client_message_id \
     from tenants t left join conversations c on c.tenant_id = t.id and c.id = $2 and ",
    visible!(),
    " left join lateral (select r.message_id, r.client_message_id from turns r \
        where r.tenant_id = c.tenant_id and r.conversation_id = c.id \
            and (r.message_seq is not null or r.status = 'queued') \
        order by r.sort_seq desc limit 1) newest on true \
     where t.id = $1"
);
const FIND_BY_NAME: &str = concat!(
    "select c.id from conversations c where c.tenant_id = $1 and c.agent_id = $2 \
     and coalesce(c.user_id, '') = $3 and c.key = $4 and c.deleted_at is null and ",
    visible!()
);
const LIST: &str = list!("");
const LIST_OF_AGENT: &str = list!(" and c.agent_id = $5");
const LIST_OF_USER: &str = list!(" and c.user_id = $5");
const LIST_OF_BOTH: &str = list!(" and c.agent_id = $5 and c.user_id = $6");

/// The statements of this file.
pub(crate) const STATEMENTS: &[&str] = &[
    FIND,
    FIND_CONTEXT,
    FIND_BY_NAME,
    LIST,
    LIST_OF_AGENT,
    LIST_OF_USER,
    LIST_OF_BOTH,
];

impl ConversationSql for PostgresStore {
    async fn find_conversation(
        &self,
        tenant: &TenantId,
        id: ConversationId,
    ) -> Result<AsOf<Option<Listed<Conversation>>>, RepositoryError> {
        let find = sqlx::query(FIND).bind(tenant.as_str()).bind(id.uuid());
        let row = self.connections.fetch_optional(find).await?;
        read::as_of_listed("conversations", row.as_ref(), |row: StoredConversation| {
            row.try_into()
        })
    }

    async fn find_by_name(
        &self,
        tenant: &TenantId,
        name: &ConversationName,
    ) -> Result<Option<ConversationId>, RepositoryError> {
        let find = sqlx::query(FIND_BY_NAME)
            .bind(tenant.as_str())
            .bind(name.agent_id.uuid())
            .bind(name.user_id.as_deref().unwrap_or_default())
            .bind(name.key.as_str());
        let row = self.connections.fetch_optional(find).await?;
        read::one("conversations", row, |(id,)| Ok(ConversationId::new(id)))
    }

    async fn find_message(
        &self,
        tenant: &TenantId,
        id: ConversationId,
        message: &MessageReference,
    ) -> Result<Option<StoredFoundMessage>, RepositoryError> {
        messages::find(self, tenant, id, message).await
    }

    async fn message_at(
        &self,
        tenant: &TenantId,
        id: ConversationId,
        seq: i64,
    ) -> Result<Option<Message>, RepositoryError> {
        messages::at(self, tenant, id, seq).await
    }

    async fn find_context(
        &self,
        tenant: &TenantId,
        id: ConversationId,
    ) -> Result<AsOf<Option<Arc<ConversationContext>>>, RepositoryError> {
        let find = sqlx::query(FIND_CONTEXT)
            .bind(tenant.as_str())
            .bind(id.uuid());
        let row = self.connections.fetch_optional(find).await?;
        read::as_of_one("conversations", row.as_ref(), |row: StoredContext| {
            Ok(Arc::new(row.into()))
        })
    }

    async fn list_conversations(
        &self,
        tenant: &TenantId,
        query: &ConversationQuery,
    ) -> Result<AsOf<Page<Listed<Conversation>>>, RepositoryError> {
        let filter = &query.filter;
        let statement = match (filter.agent_id, &filter.user_id) {
            (None, None) => LIST,
            (Some(_), None) => LIST_OF_AGENT,
            (None, Some(_)) => LIST_OF_USER,
            (Some(_), Some(_)) => LIST_OF_BOTH,
        };
        let after = query.after;
        let mut page = sqlx::query(statement)
            .bind(tenant.as_str())
            .bind(page_budget::one_more(query.limit))
            .bind(after.map_or(i64::MAX, |after| after.sort_seq.0))
            .bind(after.map_or(Uuid::max(), |after| after.id.uuid()));
        if let Some(agent_id) = filter.agent_id {
            page = page.bind(agent_id.uuid());
        }
        if let Some(user_id) = &filter.user_id {
            page = page.bind(user_id);
        }
        let rows = self.connections.fetch_all(page).await?;
        let convert = |row: StoredConversation| row.try_into();
        read::as_of_listing("conversations", &rows, query.limit, convert)
    }

    async fn list_messages(
        &self,
        tenant: &TenantId,
        id: ConversationId,
        query: &MessageQuery,
    ) -> Result<AsOf<Option<Page<Message>>>, RepositoryError> {
        messages::page(self, tenant, id, query).await
    }

    async fn read_history(
        &self,
        tenant: &TenantId,
        id: ConversationId,
        query: &HistoryQuery,
    ) -> Result<Vec<HistoryMessage>, RepositoryError> {
        messages::history(self, tenant, id, query).await
    }
}
