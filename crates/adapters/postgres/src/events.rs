//! The event log.

use domain::{Agent, AgentId, Conversation, ConversationId, EventType, Message, Seq, TenantId};
use ports::{EventQuery, LogBounds, LoggedChange, RepositoryError};
use relational::{
    EventRecord, EventTurn, conversation_columns,
    event_page::{MAX_COUNTED_EVENTS, MAX_SCANNED_EVENTS, clamp_position, full_visibility},
    message_columns, page_budget, read, reply_columns,
    repositories::EventSql,
    stored::{
        StoredChange, StoredConversation, StoredMessage, StoredSnapshot, StoredTurn,
        events_with_bounds,
    },
    turn_columns,
};
use sqlx::{
    Encode, FromRow, Postgres, Type,
    postgres::{PgArguments, PgRow},
    query::Query,
};
use uuid::Uuid;

use crate::{
    PostgresStore,
    fragments::{join_reply, visible},
};

/// The condition on events `e`: after a position, within the scan length, and passing the filters.
macro_rules! filtered {
    () => {
        "where e.tenant_id = $1 and e.seq > $2 and e.seq <= $2 + $4 \
            and ($5::text[] is null or e.type = any($5)) \
            and ($6::uuid is null or e.agent_id = $6) \
            and ($7::uuid is null or e.conversation_id = $7) \
            and case when e.conversation_id is null then $8 \
                else ($9 or exists (select 1 from turns r where r.tenant_id = e.tenant_id \
                        and r.id = e.turn_id and r.principal = $10)) \
                    and ($11::text is null or e.user_id = $11) end"
    };
}

/// Scans at most as many events as one page may, instead of the whole log for one match. Events
/// without a conversation belong to agents. Without the tenant's row there is no log. Only the size
/// of the content is read, and computed where a node of an earlier version did not store it. Input
/// and reply of a turn count twice, since an event contains them in the turn and as the message.
const PAGE: &str = concat!(
    "select t.first_seq, t.head_seq, e.seq, e.type, e.time, e.agent_id, e.conversation_id, \
        e.user_id, e.turn_id, e.actor, \
        case when e.type not in ('agent.created', 'agent.updated') then e.data end as data, \
        exists (select 1 from agents a where a.tenant_id = t.id and a.id = e.agent_id \
            and num_nonnulls(a.deleted_at) = 0) as agent_exists, \
        exists (select 1 from conversations c where c.tenant_id = t.id \
            and c.id = e.conversation_id and num_nonnulls(c.deleted_at) = 0) as conversation_exists, \
        (select r.principal from turns r where r.tenant_id = t.id and r.id = e.turn_id) as asker, \
        coalesce( \
            case when e.type in ('agent.created', 'agent.updated') \
                then coalesce(e.bytes, octet_length(e.data::text)) end, \
            (select 2 * (octet_length(to_json(r.input)::text) + coalesce((select octet_length(to_json(m.content)::text) \
                    from messages m where m.tenant_id = r.tenant_id \
                        and m.conversation_id = r.conversation_id and m.seq = r.reply_seq), 0)) \
                    + coalesce(octet_length(r.tool_calls::text), 0) \
                    + coalesce(octet_length(r.metadata::text), 0) \
                from turns r where r.tenant_id = t.id and r.id = e.turn_id), \
            (select octet_length(c.metadata::text) + coalesce((select octet_length(to_json(m.content)::text) \
                    from messages m where m.tenant_id = c.tenant_id \
                        and m.conversation_id = c.id and m.seq = 1), 0) \
                from conversations c where c.tenant_id = t.id and c.id = e.conversation_id \
                    and e.type in ('conversation.created', 'conversation.updated')), \
            0)::bigint as bytes \
    from tenants t left join lateral ( select * from events e ",
    filtered!(),
    " order by e.seq limit $3) e \
        on $2 + 1 >= t.first_seq and $2 <= t.head_seq \
    where t.id = $1 order by e.seq"
);
/// Counts at most as many events as the limit allows.
const COUNT: &str = concat!(
    "select count(*) from (select 1 from events e ",
    filtered!(),
    " limit $3) e"
);
/// `offset 0` makes the planner look up the turn by its whole key, as in `join_reply`.
const TURNS: &str = concat!(
    "select ",
    turn_columns!(),
    ", ",
    reply_columns!(),
    " from unnest($2::uuid[]) q (id) cross join lateral (select * from turns r \
     where r.tenant_id = $1 and r.id = q.id offset 0) r ",
    join_reply!()
);
const CONVERSATIONS: &str = concat!(
    "select ",
    conversation_columns!(),
    " from conversations c where c.tenant_id = $1 and c.id = any($2) and ",
    visible!()
);
const GREETINGS: &str = concat!(
    "select ",
    message_columns!(),
    " from unnest($2::uuid[]) as q (id) cross join lateral (select * from messages m \
     where m.tenant_id = $1 and m.conversation_id = q.id and m.seq = 1 limit 1) m \
     where m.turn_id is null"
);
const SNAPSHOTS: &str = "\
    select seq, data as agent from events where tenant_id = $1 and seq = any($2)";
const BOUNDS: &str = "select first_seq, head_seq from tenants where id = $1";
const HEADS: &str = "select id, head_seq from tenants order by id";
const CHANGES: &str = "\
    select seq, type, agent_id, conversation_id, turn_id from events \
    where tenant_id = $1 and seq > $2 order by seq limit $3";

/// The statements of this file.
pub(crate) const STATEMENTS: &[&str] = &[
    PAGE,
    COUNT,
    TURNS,
    CONVERSATIONS,
    GREETINGS,
    SNAPSHOTS,
    BOUNDS,
    HEADS,
    CHANGES,
];

impl EventSql for PostgresStore {
    async fn scan_events(
        &self,
        tenant: &TenantId,
        query: &EventQuery,
    ) -> Result<(Vec<EventRecord>, LogBounds), RepositoryError> {
        let page = filtered(PAGE, tenant, query, MAX_SCANNED_EVENTS);
        events_with_bounds(tenant, &self.connections.fetch_all(page).await?)
    }

    async fn count_events(
        &self,
        tenant: &TenantId,
        query: &EventQuery,
    ) -> Result<i64, RepositoryError> {
        let count = filtered(COUNT, tenant, query, MAX_COUNTED_EVENTS);
        self.connections.fetch_value("events", count).await
    }

    async fn event_turns(
        &self,
        tenant: &TenantId,
        ids: Vec<Uuid>,
    ) -> Result<Vec<EventTurn>, RepositoryError> {
        fetch_joined(self, TURNS, "turns", tenant, ids, |row: StoredTurn| {
            row.try_into()
        })
        .await
    }

    async fn event_conversations(
        &self,
        tenant: &TenantId,
        ids: Vec<Uuid>,
    ) -> Result<Vec<Conversation>, RepositoryError> {
        let convert = |row: StoredConversation| Ok(row.into());
        fetch_joined(self, CONVERSATIONS, "conversations", tenant, ids, convert).await
    }

    async fn event_greetings(
        &self,
        tenant: &TenantId,
        ids: Vec<Uuid>,
    ) -> Result<Vec<Message>, RepositoryError> {
        let convert = |row: StoredMessage| row.try_into();
        fetch_joined(self, GREETINGS, "messages", tenant, ids, convert).await
    }

    async fn event_snapshots(
        &self,
        tenant: &TenantId,
        positions: Vec<i64>,
    ) -> Result<Vec<(Seq, Agent)>, RepositoryError> {
        let convert = |row: StoredSnapshot| Ok(row.into());
        fetch_joined(self, SNAPSHOTS, "events", tenant, positions, convert).await
    }

    async fn log_bounds(&self, tenant: &TenantId) -> Result<Option<(i64, i64)>, RepositoryError> {
        let bounds = sqlx::query(BOUNDS).bind(tenant.as_str());
        let row = self.connections.fetch_optional(bounds).await?;
        row.map(|row| read::row("tenants", &row)).transpose()
    }

    async fn log_heads(&self) -> Result<Vec<(String, i64)>, RepositoryError> {
        let rows = self.connections.fetch_all(sqlx::query(HEADS)).await?;
        read::rows("tenants", rows, Ok)
    }

    async fn logged_changes(
        &self,
        tenant: &TenantId,
        since: Seq,
        limit: usize,
    ) -> Result<Vec<LoggedChange>, RepositoryError> {
        let changes = sqlx::query(CHANGES)
            .bind(tenant.as_str())
            .bind(since.0)
            .bind(page_budget::row_count(limit));
        let rows = self.connections.fetch_all(changes).await?;
        read::rows("events", rows, |row: StoredChange| Ok(row.into()))
    }
}

/// Runs a statement for all `keys` of a tenant at once.
async fn fetch_joined<R, V, K>(
    store: &PostgresStore,
    statement: &'static str,
    table: &'static str,
    tenant: &TenantId,
    keys: Vec<K>,
    into: impl Fn(R) -> Result<V, RepositoryError>,
) -> Result<Vec<V>, RepositoryError>
where
    R: for<'r> FromRow<'r, PgRow>,
    Vec<K>: for<'q> Encode<'q, Postgres> + Type<Postgres>,
{
    let query = sqlx::query(statement).bind(tenant.as_str()).bind(keys);
    let rows = store.connections.fetch_all(query).await?;
    read::rows(table, rows, into)
}

/// Binds the parameters of a statement on the events that pass the filters of `query`, among the
/// next `scanned`.
fn filtered(
    statement: &'static str,
    tenant: &TenantId,
    query: &EventQuery,
    scanned: i64,
) -> Query<'static, Postgres, PgArguments> {
    let types: Vec<_> = query.types.iter().copied().map(EventType::as_str).collect();
    let types = (!types.is_empty()).then_some(types);
    let visibility = query.visibility.clone().unwrap_or_else(full_visibility);
    sqlx::query(statement)
        .bind(tenant.as_str())
        .bind(clamp_position(query.since))
        .bind(page_budget::row_count(query.limit))
        .bind(scanned)
        .bind(types)
        .bind(query.agent_id.map(AgentId::uuid))
        .bind(query.conversation_id.map(ConversationId::uuid))
        .bind(visibility.agents)
        .bind(visibility.conversations)
        .bind(visibility.principal.as_str())
        .bind(visibility.user_id.as_deref())
}
