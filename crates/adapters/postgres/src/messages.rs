//! Messages: the pages of a conversation, and the history for an engine.

use domain::{AsOf, ConversationId, HistoryMessage, Message, Page, TenantId};
use ports::{HistoryQuery, ListingOrder, MessageQuery, MessageReference, RepositoryError};
use relational::{
    column, message_columns, message_turn_columns, page_budget, read,
    stored::{StoredFoundMessage, StoredListedMessage},
};

use crate::{PostgresStore, fragments::visible};

/// A page of messages joined to the tenant's head and to their conversation, if it exists.
macro_rules! page {
    ($after:literal, $order:literal) => {
        concat!(
            "select t.head_seq, c.id is not null as is_found, m.total, ",
            message_columns!(),
            ", ",
            message_turn_columns!(),
            " from tenants t left join conversations c \
             on c.tenant_id = t.id and c.id = $2 and ",
            visible!(),
            " left join lateral ",
            page_budget!(
                concat!(
                    "select m.*, octet_length(to_json(m.content)::text) + case m.role \
                     when 'agent' then coalesce((select octet_length(r.tool_calls::text) from turns r \
                        where r.tenant_id = m.tenant_id and r.id = m.turn_id), 0) else 0 end as bytes \
                     from messages m where m.tenant_id = c.tenant_id and m.conversation_id = c.id \
                     and ($5 or num_nonnulls(m.superseded_at) = 0) and m.",
                    $after,
                    " order by m.",
                    $order,
                    " limit $4"
                ),
                $order
            ),
            " m on true left join lateral (select * from turns r where r.tenant_id = m.tenant_id \
             and r.id = m.turn_id offset 0) r on true where t.id = $1 order by m.place"
        )
    };
}

const PAGE_ASCENDING: &str = page!("seq > $3", "seq");
const PAGE_DESCENDING: &str = page!("seq < $3", "seq desc");
/// The sum runs over whole messages, newest first, so that the first message over the limit hides
/// all earlier ones.
const HISTORY: &str = concat!(
    "select m.seq, m.role, m.content \
     from (select m.*, sum(char_length(m.content)) over (order by m.seq desc) as characters \
     from (select m.seq, m.role, m.content from messages m \
     where m.tenant_id = $1 and m.conversation_id = $2 and m.seq < $3 \
     and num_nonnulls(m.superseded_at) = 0 \
     and exists (select 1 from conversations c where c.tenant_id = $1 and c.id = $2 and ",
    visible!(),
    ") and coalesce((select t.status <> 'failed' from turns t \
     where t.tenant_id = m.tenant_id and t.id = m.turn_id), true) \
     order by m.seq desc limit $4) m) m \
     where m.characters <= $5 order by m.seq"
);

/// The newest message with an id: most clients refer to recent messages. `before` counts the
/// messages before it that are not superseded.
const FIND: &str = concat!(
    "select m.*, (select count(*) from messages p where p.tenant_id = $1 \
        and p.conversation_id = $2 and p.seq < m.seq and num_nonnulls(p.superseded_at) = 0) as before, \
     (select max(p.seq) from messages p where p.tenant_id = $1 \
        and p.conversation_id = $2 and p.seq < m.seq and num_nonnulls(p.superseded_at) = 0) as previous \
     from (select ",
    message_columns!(),
    ", ",
    message_turn_columns!(),
    " from messages m left join lateral (select * from turns r where r.tenant_id = m.tenant_id \
        and r.id = m.turn_id offset 0) r on true \
     where m.tenant_id = $1 and m.conversation_id = $2 and (m.id = $3 or r.client_message_id = $4 and m.role = 'user') \
     and exists (select 1 from conversations c where c.tenant_id = $1 and c.id = $2 and ",
    visible!(),
    ") order by m.seq desc limit 1) m"
);
const AT: &str = concat!(
    "select ",
    message_columns!(),
    ", ",
    message_turn_columns!(),
    " from messages m left join lateral (select * from turns r where r.tenant_id = m.tenant_id \
        and r.id = m.turn_id offset 0) r on true \
     where m.tenant_id = $1 and m.conversation_id = $2 and m.seq = $3"
);

/// The statements of this file.
pub(crate) const STATEMENTS: &[&str] = &[PAGE_ASCENDING, PAGE_DESCENDING, HISTORY, FIND, AT];

/// Returns one page of a conversation's messages; `None` if the conversation does not exist.
pub(crate) async fn page(
    store: &PostgresStore,
    tenant: &TenantId,
    id: ConversationId,
    query: &MessageQuery,
) -> Result<AsOf<Option<Page<Message>>>, RepositoryError> {
    let (statement, start) = match query.order {
        ListingOrder::Ascending => (PAGE_ASCENDING, 0),
        ListingOrder::Descending => (PAGE_DESCENDING, i64::MAX),
    };
    let page = sqlx::query(statement)
        .bind(tenant.as_str())
        .bind(id.uuid())
        .bind(query.after.unwrap_or(start))
        .bind(page_budget::one_more(query.limit))
        .bind(query.with_superseded);
    let rows = store.connections.fetch_all(page).await?;
    let page = read::as_of_page(
        "messages",
        &rows,
        query.limit,
        |row: StoredListedMessage| row.try_into(),
    )?;
    read::if_found("conversations", &rows, page)
}

/// Returns the message that `message` refers to.
pub(crate) async fn find(
    store: &PostgresStore,
    tenant: &TenantId,
    id: ConversationId,
    message: &MessageReference,
) -> Result<Option<StoredFoundMessage>, RepositoryError> {
    let (message_id, client_id) = match message {
        MessageReference::Id(id) => (Some(id.uuid()), None),
        MessageReference::ClientId(id) => (None, Some(id.as_str())),
    };
    let find = sqlx::query(FIND)
        .bind(tenant.as_str())
        .bind(id.uuid())
        .bind(message_id)
        .bind(client_id);
    read::one(
        "messages",
        store.connections.fetch_optional(find).await?,
        Ok,
    )
}

/// Returns the message at a position, also in a conversation that is deleted.
pub(crate) async fn at(
    store: &PostgresStore,
    tenant: &TenantId,
    id: ConversationId,
    seq: i64,
) -> Result<Option<Message>, RepositoryError> {
    let find = sqlx::query(AT)
        .bind(tenant.as_str())
        .bind(id.uuid())
        .bind(seq);
    let row = store.connections.fetch_optional(find).await?;
    read::one("messages", row, |row: StoredListedMessage| row.try_into())
}

/// Implements `ConversationRepository::history`.
pub(crate) async fn history(
    store: &PostgresStore,
    tenant: &TenantId,
    id: ConversationId,
    query: &HistoryQuery,
) -> Result<Vec<HistoryMessage>, RepositoryError> {
    let history = sqlx::query(HISTORY)
        .bind(tenant.as_str())
        .bind(id.uuid())
        .bind(query.before)
        .bind(i64::from(query.limits.messages()))
        .bind(i64::from(query.limits.characters()));
    let rows = store.connections.fetch_all(history).await?;
    read::rows("messages", rows, column::history_message)
}
