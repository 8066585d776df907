//! Messages: the pages of a conversation, and the history for an engine.

use domain::{AsOf, ConversationId, HistoryMessage, Message, Page, TenantId};
use ports::{HistoryQuery, ListingOrder, MessageQuery, MessageReference, RepositoryError};
use relational::{
    column, message_columns, message_turn_columns, page_budget, read,
    stored::{StoredFoundMessage, StoredListedMessage},
};

use crate::{SqliteStore, fragments::visible};

/// A page of messages joined to the tenant's head and to their conversation, if it exists.
macro_rules! page {
    ($after:literal, $order:literal) => {
        concat!(
            "select t.head_seq, c.id is not null as is_found, p.total, ",
            message_columns!(),
            ", ",
            message_turn_columns!(),
            " from tenants t left join conversations c \
             on c.tenant_id = t.id and c.id = ?2 and ",
            visible!(),
            " left join ",
            page_budget!(
                concat!(
                    "select seq, octet_length(json_quote(content)) + case role \
                     when 'agent' then coalesce((select octet_length(r.tool_calls) from turns r \
                        where r.tenant_id = messages.tenant_id and r.id = messages.turn_id), 0) \
                     else 0 end as bytes from messages \
                     where tenant_id = ?1 and conversation_id = ?2 \
                     and (?5 or superseded_at is null) and ",
                    $after,
                    " order by ",
                    $order,
                    " limit ?4"
                ),
                $order
            ),
            " p on c.id is not null left join messages m \
             on m.tenant_id = c.tenant_id and m.conversation_id = c.id and m.seq = p.seq \
             left join turns r on r.tenant_id = m.tenant_id and r.id = m.turn_id \
             where t.id = ?1 order by p.place"
        )
    };
}

const PAGE_ASCENDING: &str = page!("seq > ?3", "seq");
const PAGE_DESCENDING: &str = page!("seq < ?3", "seq desc");
/// The sum runs over whole messages, newest first, so that the first message over the limit hides
/// all earlier ones.
const HISTORY: &str = concat!(
    "select m.seq, m.role, m.content \
     from (select m.*, sum(length(m.content)) over (order by m.seq desc) as characters \
     from (select m.seq, m.role, m.content from conversations c join messages m \
     on m.tenant_id = c.tenant_id and m.conversation_id = c.id \
     left join turns t on t.tenant_id = m.tenant_id and t.id = m.turn_id \
     where c.tenant_id = ?1 and c.id = ?2 and ",
    visible!(),
    " and m.seq < ?3 and m.superseded_at is null and coalesce(t.status <> 'failed', true) \
     order by m.seq desc limit ?4) m) m \
     where m.characters <= ?5 order by m.seq"
);

/// A message at a position. Clients refer to recent messages, so `before`, the number of messages
/// before it that are not superseded, is computed from those after it.
macro_rules! find {
    ($position:literal) => {
        concat!(
            "select m.*, m.visible - (select count(*) from messages p where p.tenant_id = ?1 \
                and p.conversation_id = ?2 and p.seq >= m.seq and p.superseded_at is null) \
                as before, \
             (select p.seq from messages p where p.tenant_id = ?1 \
                and p.conversation_id = ?2 and p.seq < m.seq and p.superseded_at is null \
                order by p.seq desc limit 1) as previous \
             from (select c.message_count - c.superseded_count as visible, ",
            message_columns!(),
            ", ",
            message_turn_columns!(),
            " from conversations c join messages m \
             on m.tenant_id = c.tenant_id and m.conversation_id = c.id \
             left join turns r on r.tenant_id = m.tenant_id and r.id = m.turn_id \
             where c.tenant_id = ?1 and c.id = ?2 and m.tenant_id = ?1 and m.conversation_id = ?2 and ",
            visible!(),
            " and ",
            $position,
            " order by m.seq desc limit 1) m"
        )
    };
}

const FIND: &str = find!("m.id = ?3");
/// An edited message has the id of the one that it replaces; the newest is found.
const FIND_BY_CLIENT_ID: &str = find!(
    "m.seq = (select max(t.message_seq) from turns t where t.tenant_id = ?1 \
        and t.conversation_id = ?2 and t.client_message_id = ?3)"
);
const AT: &str = concat!(
    "select ",
    message_columns!(),
    ", ",
    message_turn_columns!(),
    " from messages m left join turns r on r.tenant_id = m.tenant_id and r.id = m.turn_id \
     where m.tenant_id = ?1 and m.conversation_id = ?2 and m.seq = ?3"
);

/// The statements of this file.
pub(crate) const STATEMENTS: &[&str] = &[
    PAGE_ASCENDING,
    PAGE_DESCENDING,
    HISTORY,
    FIND,
    FIND_BY_CLIENT_ID,
    AT,
];

/// Returns one page of a conversation's messages; `None` if the conversation does not exist.
pub(crate) async fn page(
    store: &SqliteStore,
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
    let rows = store.fetch_all(page).await?;
    let page = read::as_of_page(
        "messages",
        &rows,
        query.limit,
        |row: StoredListedMessage| Ok(row.into()),
    )?;
    read::if_found("conversations", &rows, page)
}

/// Returns the message that `message` refers to.
pub(crate) async fn find(
    store: &SqliteStore,
    tenant: &TenantId,
    id: ConversationId,
    message: &MessageReference,
) -> Result<Option<StoredFoundMessage>, RepositoryError> {
    let statement = match message {
        MessageReference::Id(_) => FIND,
        MessageReference::ClientId(_) => FIND_BY_CLIENT_ID,
    };
    let find = sqlx::query(statement).bind(tenant.as_str()).bind(id.uuid());
    let find = match message {
        MessageReference::Id(id) => find.bind(id.uuid()),
        MessageReference::ClientId(id) => find.bind(id),
    };
    read::one("messages", store.fetch_optional(find).await?, Ok)
}

/// Returns the message at a position, also in a conversation that is deleted.
pub(crate) async fn at(
    store: &SqliteStore,
    tenant: &TenantId,
    id: ConversationId,
    seq: i64,
) -> Result<Option<Message>, RepositoryError> {
    let find = sqlx::query(AT)
        .bind(tenant.as_str())
        .bind(id.uuid())
        .bind(seq);
    let row = store.fetch_optional(find).await?;
    read::one("messages", row, |row: StoredListedMessage| Ok(row.into()))
}

/// Implements `ConversationRepository::history`.
pub(crate) async fn history(
    store: &SqliteStore,
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
    let rows = store.fetch_all(history).await?;
    read::rows("messages", rows, Ok).map(column::history)
}
