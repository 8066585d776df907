//! Messages: the pages of a conversation, and the history for an engine.

use domain::{AsOf, ConversationId, HistoryMessage, Message, Page, TenantId};
use ports::{HistoryQuery, MessageOrder, MessageQuery, RepositoryError};
use relational::{column, message_columns, page_budget, read, stored::StoredMessage};
use sqlx::Row as _;

use crate::{SqliteStore, error::in_table, fragments::visible};

/// A page of messages joined to the tenant's head and to their conversation, if it exists.
macro_rules! page {
    ($after:literal, $order:literal) => {
        concat!(
            "select t.head_seq, c.id is not null as is_found, p.total, ",
            message_columns!(),
            " from tenants t left join conversations c \
             on c.tenant_id = t.id and c.id = ?2 and ",
            visible!(),
            " left join ",
            page_budget!(
                concat!(
                    "select seq, octet_length(json_quote(content)) as bytes from messages \
                     where tenant_id = ?1 and conversation_id = ?2 and ",
                    $after,
                    " order by ",
                    $order,
                    " limit ?4"
                ),
                $order
            ),
            " p on c.id is not null left join messages m \
             on m.tenant_id = c.tenant_id and m.conversation_id = c.id and m.seq = p.seq \
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
    " and m.seq < ?3 and coalesce(t.status <> 'failed', true) \
     order by m.seq desc limit ?4) m) m \
     where m.characters <= ?5 order by m.seq"
);

/// The statements of this file.
pub(crate) const STATEMENTS: &[&str] = &[PAGE_ASCENDING, PAGE_DESCENDING, HISTORY];

/// Returns one page of a conversation's messages; `None` if the conversation does not exist.
pub(crate) async fn page(
    store: &SqliteStore,
    tenant: &TenantId,
    id: ConversationId,
    query: &MessageQuery,
) -> Result<AsOf<Option<Page<Message>>>, RepositoryError> {
    let (statement, start) = match query.order {
        MessageOrder::Ascending => (PAGE_ASCENDING, 0),
        MessageOrder::Descending => (PAGE_DESCENDING, i64::MAX),
    };
    let page = sqlx::query(statement)
        .bind(tenant.as_str())
        .bind(id.uuid())
        .bind(query.after.unwrap_or(start))
        .bind(page_budget::one_more(query.limit));
    let rows = store.fetch_all(page).await?;
    let is_found = match rows.first() {
        Some(row) => row.try_get("is_found").map_err(in_table("conversations"))?,
        None => false,
    };
    let page = read::as_of_page("messages", &rows, query.limit, |row: StoredMessage| {
        row.try_into()
    })?;
    Ok(page.map(|page| is_found.then_some(page)))
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
    read::rows("messages", rows, column::history_message)
}
