//! Messages: the pages of a conversation, and the history for an engine.

use domain::{AsOf, ConversationId, HistoryMessage, Message, MessageId, Page, TenantId, TurnId};
use ports::{HistoryQuery, MessageOrder, MessageQuery, RepositoryError};
use relational::{column, page_budget};
use sqlx::Row;
use time::OffsetDateTime;
use uuid::Uuid;

use crate::{PostgresStore, conversation_row::visible, error::in_table, row};

/// The columns of a message `m`.
macro_rules! message_columns {
    () => {
        "m.id, m.conversation_id, m.turn_id, m.seq, m.role, m.content, m.created_at, m.engine, \
         m.agent_version, m.finish_reason, m.input_tokens, m.output_tokens"
    };
}

pub(crate) use message_columns;

/// A page of messages joined to the tenant's head and to their conversation, if it exists.
macro_rules! page {
    ($after:literal, $order:literal) => {
        concat!(
            "select t.head_seq, c.id is not null as is_found, m.total, ",
            message_columns!(),
            " from tenants t left join conversations c \
             on c.tenant_id = t.id and c.id = $2 and ",
            visible!(),
            " left join lateral ",
            page_budget!(
                concat!(
                    "select m.*, octet_length(to_json(m.content)::text) as bytes from messages m \
                     where m.tenant_id = c.tenant_id and m.conversation_id = c.id and m.",
                    $after,
                    " order by m.",
                    $order,
                    " limit $4"
                ),
                $order
            ),
            " m on true where t.id = $1 order by m.place"
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
     and exists (select 1 from conversations c where c.tenant_id = $1 and c.id = $2 and ",
    visible!(),
    ") and coalesce((select t.status <> 'failed' from turns t \
     where t.tenant_id = m.tenant_id and t.id = m.turn_id), true) \
     order by m.seq desc limit $4) m) m \
     where m.characters <= $5 order by m.seq"
);

/// The statements of this file.
pub(crate) const STATEMENTS: &[&str] = &[PAGE_ASCENDING, PAGE_DESCENDING, HISTORY];

/// A message as it is stored, also as the part of a joined row.
#[derive(Debug, sqlx::FromRow)]
pub(crate) struct MessageRow {
    pub(crate) id: Uuid,
    pub(crate) conversation_id: Uuid,
    pub(crate) turn_id: Option<Uuid>,
    pub(crate) seq: i64,
    pub(crate) role: String,
    pub(crate) content: String,
    pub(crate) created_at: OffsetDateTime,
    pub(crate) engine: Option<String>,
    pub(crate) agent_version: Option<i64>,
    pub(crate) finish_reason: Option<String>,
    pub(crate) input_tokens: Option<i64>,
    pub(crate) output_tokens: Option<i64>,
}

impl TryFrom<MessageRow> for Message {
    type Error = RepositoryError;

    fn try_from(row: MessageRow) -> Result<Self, RepositoryError> {
        Ok(Self {
            id: MessageId::new(row.id),
            conversation_id: ConversationId::new(row.conversation_id),
            turn_id: row.turn_id.map(TurnId::new),
            seq: row.seq,
            role: column::role(&row.role)?,
            content: row.content,
            created_at: row::time(row.created_at),
            engine: row.engine,
            agent_version: row.agent_version,
            finish_reason: column::finish_reason(row.finish_reason.as_deref())?,
            usage: column::usage(row.input_tokens, row.output_tokens),
        })
    }
}

/// Returns one page of a conversation's messages; `None` if the conversation does not exist.
pub(crate) async fn page(
    store: &PostgresStore,
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
        .bind(row::one_more(query.limit));
    let rows = store.connections.fetch_all(page).await?;
    let is_found = match rows.first() {
        Some(row) => row.try_get("is_found").map_err(in_table("conversations"))?,
        None => false,
    };
    let page = row::as_of_page("messages", &rows, query.limit, |row: MessageRow| {
        row.try_into()
    })?;
    Ok(page.map(|page| is_found.then_some(page)))
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
    rows.iter()
        .map(|row| column::history_message(row::read("messages", row)?))
        .collect()
}
