//! Conversations.

use std::sync::Arc;

use async_trait::async_trait;
use domain::{
    AgentId, AsOf, Conversation, ConversationContext, ConversationId, HistoryMessage,
    IdempotencyEntry, Listed, Message, Page, Stamp, TenantId,
};
use ports::{
    Committed, ConversationQuery, ConversationRepository, Deletion, HistoryQuery, Idempotent,
    MessageQuery, RepositoryError,
};
use relational::{event_rows, page_budget, plan};
use sqlx::{PgConnection, types::Json};
use uuid::Uuid;

use crate::{
    PostgresStore, claims,
    conversation_row::{ContextRow, ConversationRow, conversation_columns, visible},
    error::{from_sqlx, in_table},
    messages, row, rows, tenants, turns,
};

/// A page of conversations joined to the tenant's head, so that both come from the same snapshot.
macro_rules! list {
    ($filter:literal) => {
        concat!(
            "select t.head_seq, c.sort_seq, c.total, ",
            conversation_columns!(),
            " from tenants t left join ",
            page_budget!(
                concat!(
                    "select c.sort_seq, octet_length(c.metadata::text) \
                     + coalesce(octet_length(c.title), 0) as bytes, ",
                    conversation_columns!(),
                    " from conversations c where c.tenant_id = $1 \
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
    conversation_columns!(),
    " from tenants t left join conversations c on c.tenant_id = t.id and c.id = $2 and ",
    visible!(),
    " where t.id = $1"
);
const FIND_CONTEXT: &str = concat!(
    "select t.head_seq, c.id, c.agent_id, c.user_id, c.message_count, c.turn_count, \
     (select (array_agg(r.id) filter (where r.status = 'in_progress'))[1] from turns r \
        where r.tenant_id = c.tenant_id and r.agent_id = c.agent_id \
        and r.conversation_id = c.id and r.status in ('queued', 'in_progress')) as running_turn \
     from tenants t left join conversations c on c.tenant_id = t.id and c.id = $2 and ",
    visible!(),
    " where t.id = $1"
);
const LIST: &str = list!("");
const LIST_OF_AGENT: &str = list!(" and c.agent_id = $5");
const LIST_OF_USER: &str = list!(" and c.user_id = $5");
const LIST_OF_BOTH: &str = list!(" and c.agent_id = $5 and c.user_id = $6");
const FIND_IN_TRANSACTION: &str = concat!(
    "select ",
    conversation_columns!(),
    " from conversations c where c.tenant_id = $1 and c.id = $2 and ",
    visible!()
);
const AGENT_EXISTS: &str = "\
    select exists (select 1 from agents \
        where tenant_id = $1 and id = $2 and num_nonnulls(deleted_at) = 0)";
const UPDATE: &str = "\
    update conversations set title = $3, metadata = $4, version = $5, updated_at = $6, sort_seq = $7 \
    where tenant_id = $1 and id = $2";
const DELETE: &str = "update conversations set deleted_at = $3 where tenant_id = $1 and id = $2";

/// The statements of this file.
pub(crate) const STATEMENTS: &[&str] = &[
    FIND,
    FIND_CONTEXT,
    LIST,
    LIST_OF_AGENT,
    LIST_OF_USER,
    LIST_OF_BOTH,
    FIND_IN_TRANSACTION,
    AGENT_EXISTS,
    UPDATE,
    DELETE,
];

/// Conversations in PostgreSQL.
pub(crate) struct PostgresConversations {
    pub(crate) store: PostgresStore,
}

#[async_trait]
impl ConversationRepository for PostgresConversations {
    async fn insert(
        &self,
        tenant: &TenantId,
        conversation: &Conversation,
        greeting: Option<&Message>,
        stamp: &Stamp,
        claim: Option<&IdempotencyEntry>,
    ) -> Result<Idempotent<Option<Committed>>, RepositoryError> {
        let (tenant, conversation) = (tenant.clone(), conversation.clone());
        let (greeting, stamp, claim) = (greeting.cloned(), stamp.clone(), claim.cloned());
        self.store
            .connections
            .transaction(move |connection| {
                Box::pin(async move {
                    let head = tenants::lock(connection, &tenant).await?;
                    if let Some(record) =
                        claims::existing_record(connection, &tenant, claim.as_ref()).await?
                    {
                        return Ok(Idempotent::Replayed(record));
                    }
                    if !agent_exists(connection, &tenant, conversation.agent_id).await? {
                        return Ok(Idempotent::Applied(None));
                    }
                    let (rows, committed) = plan::new_conversation(
                        &tenant,
                        head,
                        &conversation,
                        greeting.as_ref(),
                        &stamp,
                        claim.as_ref(),
                    );
                    rows::write(connection, &rows).await?;
                    Ok(Idempotent::Applied(Some(committed)))
                })
            })
            .await
    }

    async fn find(
        &self,
        tenant: &TenantId,
        id: ConversationId,
    ) -> Result<AsOf<Option<Conversation>>, RepositoryError> {
        let find = sqlx::query(FIND).bind(tenant.as_str()).bind(id.uuid());
        let row = self.store.connections.fetch_optional(find).await?;
        row::as_of_one("conversations", row.as_ref(), |row: ConversationRow| {
            row.try_into()
        })
    }

    async fn find_context(
        &self,
        tenant: &TenantId,
        id: ConversationId,
    ) -> Result<AsOf<Option<Arc<ConversationContext>>>, RepositoryError> {
        let find = sqlx::query(FIND_CONTEXT)
            .bind(tenant.as_str())
            .bind(id.uuid());
        let row = self.store.connections.fetch_optional(find).await?;
        row::as_of_one("conversations", row.as_ref(), |row: ContextRow| {
            Ok(Arc::new(row.into()))
        })
    }

    async fn list(
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
            .bind(row::one_more(query.limit))
            .bind(after.map_or(i64::MAX, |after| after.sort_seq.0))
            .bind(after.map_or(Uuid::max(), |after| after.id.uuid()));
        if let Some(agent_id) = filter.agent_id {
            page = page.bind(agent_id.uuid());
        }
        if let Some(user_id) = &filter.user_id {
            page = page.bind(user_id);
        }
        let rows = self.store.connections.fetch_all(page).await?;
        row::as_of_listing(
            "conversations",
            &rows,
            query.limit,
            |row: ConversationRow| row.try_into(),
        )
    }

    async fn update(
        &self,
        tenant: &TenantId,
        conversation: &Conversation,
        stamp: &Stamp,
    ) -> Result<Option<(Committed, Conversation)>, RepositoryError> {
        let (tenant, conversation) = (tenant.clone(), conversation.clone());
        let stamp = stamp.clone();
        self.store
            .connections
            .transaction(move |connection| {
                Box::pin(async move { update(connection, &tenant, &conversation, &stamp).await })
            })
            .await
    }

    async fn delete(
        &self,
        tenant: &TenantId,
        id: ConversationId,
        expected: Option<i64>,
        stamp: &Stamp,
    ) -> Result<Deletion, RepositoryError> {
        let (tenant, stamp) = (tenant.clone(), stamp.clone());
        self.store
            .connections
            .transaction(move |connection| {
                Box::pin(async move { delete(connection, &tenant, id, expected, &stamp).await })
            })
            .await
    }

    async fn messages(
        &self,
        tenant: &TenantId,
        id: ConversationId,
        query: &MessageQuery,
    ) -> Result<AsOf<Option<Page<Message>>>, RepositoryError> {
        messages::page(&self.store, tenant, id, query).await
    }

    async fn history(
        &self,
        tenant: &TenantId,
        id: ConversationId,
        query: &HistoryQuery,
    ) -> Result<Vec<HistoryMessage>, RepositoryError> {
        messages::history(&self.store, tenant, id, query).await
    }
}

async fn agent_exists(
    connection: &mut PgConnection,
    tenant: &TenantId,
    id: AgentId,
) -> Result<bool, RepositoryError> {
    sqlx::query_scalar(AGENT_EXISTS)
        .bind(tenant.as_str())
        .bind(id.uuid())
        .fetch_one(connection)
        .await
        .map_err(in_table("agents"))
}

async fn find(
    connection: &mut PgConnection,
    tenant: &TenantId,
    id: ConversationId,
) -> Result<Option<Conversation>, RepositoryError> {
    let row: Option<ConversationRow> = sqlx::query_as(FIND_IN_TRANSACTION)
        .bind(tenant.as_str())
        .bind(id.uuid())
        .fetch_optional(connection)
        .await
        .map_err(in_table("conversations"))?;
    row.map(Conversation::try_from).transpose()
}

async fn update(
    connection: &mut PgConnection,
    tenant: &TenantId,
    conversation: &Conversation,
    stamp: &Stamp,
) -> Result<Option<(Committed, Conversation)>, RepositoryError> {
    let head = tenants::lock(connection, tenant).await?;
    let Some(stored) = find(connection, tenant, conversation.id).await? else {
        return Ok(None);
    };
    let updated = plan::updated_conversation(stored, conversation)?;
    let (rows, committed) = plan::log_change(tenant, head, stamp, |position| {
        event_rows::conversation_updated(position, &updated)
    });
    sqlx::query(UPDATE)
        .bind(tenant.as_str())
        .bind(updated.id.uuid())
        .bind(&updated.title)
        .bind(Json(&updated.metadata))
        .bind(updated.version)
        .bind(updated.updated_at.date_time())
        .bind(committed.last.0)
        .execute(&mut *connection)
        .await
        .map_err(from_sqlx)?;
    rows::write(connection, &rows).await?;
    Ok(Some((committed, updated)))
}

async fn delete(
    connection: &mut PgConnection,
    tenant: &TenantId,
    id: ConversationId,
    expected: Option<i64>,
    stamp: &Stamp,
) -> Result<Deletion, RepositoryError> {
    let head = tenants::lock(connection, tenant).await?;
    let Some(stored) = find(connection, tenant, id).await? else {
        return Ok(Deletion::NotFound);
    };
    plan::check_version("conversation", stored.version, expected)?;
    let open = turns::open_of_conversation(connection, tenant, stored.agent_id, id).await?;
    sqlx::query(DELETE)
        .bind(tenant.as_str())
        .bind(id.uuid())
        .bind(stamp.time.date_time())
        .execute(&mut *connection)
        .await
        .map_err(from_sqlx)?;
    let (rows, committed) = plan::log_deletion(tenant, head, &open, stamp, |position| {
        event_rows::conversation_deleted(position, &stored)
    });
    rows::write(connection, &rows).await?;
    Ok(Deletion::Deleted(committed))
}
