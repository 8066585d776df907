//! Turns.

use async_trait::async_trait;
use domain::{AgentId, AsOf, ConversationId, NodeId, Stamp, TenantId, TurnId};
use ports::{
    BeginOutcome, BeginTurn, CancelOutcome, CompletedTurn, FinishOutcome, FinishTurn, FoundTurn,
    RecordTurnOutcome, Reply, RepositoryError, TurnRepository,
};
use relational::{
    Facts, FactsQuery, TurnRow,
    plan::{self, OpenTurn},
};
use sqlx::{FromRow, PgConnection, Row, postgres::PgRow};
use time::OffsetDateTime;
use uuid::Uuid;

use crate::{
    PostgresStore,
    error::in_table,
    facts, row, rows, tenants,
    turn_row::{TurnWithReply, join_reply, reply_columns, turn_columns},
};

/// Hides a turn `r` once its agent or conversation is deleted, unless the deletion itself cancelled
/// the turn.
macro_rules! unless_deleted {
    () => {
        "and not exists ( \
            select 1 from conversations d \
            where d.tenant_id = r.tenant_id and d.id = r.conversation_id \
                and case when r.status = 'cancelled' then r.finished_at else '-infinity'::timestamptz end \
                    < coalesce(d.deleted_at, (select a.deleted_at from agents a \
                        where a.tenant_id = d.tenant_id and a.id = d.agent_id))) "
    };
}

/// `offset 0` makes the planner look up the conversation by its whole key, as in `join_reply`.
const FIND: &str = concat!(
    "select t.head_seq, c.user_id as owner, ",
    turn_columns!(),
    ", ",
    reply_columns!(),
    " from tenants t left join turns r on r.tenant_id = t.id and r.id = $2 ",
    unless_deleted!(),
    join_reply!(),
    "left join lateral (select * from conversations c \
     where c.tenant_id = r.tenant_id and c.id = r.conversation_id offset 0) c on true \
     where t.id = $1"
);
/// `offset 0` sorts the turns after they are found: to find them in this order, the planner would
/// read all turns of the tenant while tables are empty.
const OPEN_OF_AGENT: &str = "\
    select r.id, r.conversation_id, r.agent_id, (select c.user_id from conversations c \
        where c.tenant_id = r.tenant_id and c.id = r.conversation_id) as user_id, \
        coalesce(r.started_at, r.created_at) as latest_time \
    from (select * from turns \
        where tenant_id = $1 and agent_id = $2 and status in ('queued', 'in_progress') offset 0) r \
    order by r.id";
/// `offset 0` as in [`OPEN_OF_AGENT`].
const OPEN_OF_CONVERSATION: &str = "\
    select r.id, r.conversation_id, r.agent_id, (select c.user_id from conversations c \
        where c.tenant_id = r.tenant_id and c.id = r.conversation_id) as user_id, \
        coalesce(r.started_at, r.created_at) as latest_time \
    from (select * from turns \
        where tenant_id = $1 and agent_id = $2 and conversation_id = $3 \
            and status in ('queued', 'in_progress') offset 0) r \
    order by r.id";

/// The statements of this file.
pub(crate) const STATEMENTS: &[&str] = &[FIND, OPEN_OF_AGENT, OPEN_OF_CONVERSATION];

struct FoundRow {
    turn: TurnWithReply,
    owner: Option<String>,
}

impl<'r> FromRow<'r, PgRow> for FoundRow {
    fn from_row(row: &'r PgRow) -> Result<Self, sqlx::Error> {
        Ok(Self {
            turn: TurnWithReply::from_row(row)?,
            owner: row.try_get("owner")?,
        })
    }
}

impl TryFrom<FoundRow> for FoundTurn {
    type Error = RepositoryError;

    fn try_from(row: FoundRow) -> Result<Self, RepositoryError> {
        Ok(TurnRow::try_from(row.turn)?.into_found_turn(row.owner))
    }
}

#[derive(sqlx::FromRow)]
struct OpenRow {
    id: Uuid,
    conversation_id: Uuid,
    agent_id: Uuid,
    user_id: Option<String>,
    latest_time: OffsetDateTime,
}

impl From<OpenRow> for OpenTurn {
    fn from(row: OpenRow) -> Self {
        Self {
            id: TurnId::new(row.id),
            conversation_id: ConversationId::new(row.conversation_id),
            agent_id: AgentId::new(row.agent_id),
            user_id: row.user_id,
            latest_time: row::time(row.latest_time),
        }
    }
}

/// Turns in PostgreSQL.
pub(crate) struct PostgresTurns {
    pub(crate) store: PostgresStore,
}

#[async_trait]
impl TurnRepository for PostgresTurns {
    async fn record_completed_turn(
        &self,
        completed_turn: CompletedTurn,
    ) -> Result<RecordTurnOutcome, RepositoryError> {
        self.store.group.record_completed_turn(completed_turn).await
    }

    async fn begin_turn(&self, begin: BeginTurn) -> Result<BeginOutcome, RepositoryError> {
        self.store.group.begin_turn(begin).await
    }

    async fn finish_turn(&self, finish: FinishTurn) -> Result<FinishOutcome, RepositoryError> {
        self.store.group.finish_turn(finish).await
    }

    async fn cancel_turn(
        &self,
        tenant: &TenantId,
        id: TurnId,
        partial: Option<Reply>,
        node: Option<NodeId>,
        stamp: &Stamp,
    ) -> Result<CancelOutcome, RepositoryError> {
        let (tenant, stamp) = (tenant.clone(), stamp.clone());
        self.store
            .connections
            .transaction(move |connection| {
                Box::pin(async move {
                    cancel(connection, &tenant, id, partial.as_ref(), node, &stamp).await
                })
            })
            .await
    }

    async fn find(
        &self,
        tenant: &TenantId,
        id: TurnId,
    ) -> Result<AsOf<Option<FoundTurn>>, RepositoryError> {
        let find = sqlx::query(FIND).bind(tenant.as_str()).bind(id.uuid());
        let row = self.store.connections.fetch_optional(find).await?;
        row::as_of_one("turns", row.as_ref(), |row: FoundRow| row.try_into())
    }
}

async fn cancel(
    connection: &mut PgConnection,
    tenant: &TenantId,
    id: TurnId,
    partial: Option<&Reply>,
    node: Option<NodeId>,
    stamp: &Stamp,
) -> Result<CancelOutcome, RepositoryError> {
    let Some((row, facts)) = lock_and_find(connection, tenant, id, node).await? else {
        return Ok(CancelOutcome::NotFound);
    };
    let (rows, outcome) = plan::cancel_turn(&facts, &row, partial, node, stamp);
    rows::write(connection, &rows).await?;
    Ok(outcome)
}

/// Locks the tenant and finds a turn to end from outside, with the facts for that decision. `node`
/// is the node on which the next queued turn is to start.
pub(crate) async fn lock_and_find(
    connection: &mut PgConnection,
    tenant: &TenantId,
    id: TurnId,
    node: Option<NodeId>,
) -> Result<Option<(TurnRow, Facts)>, RepositoryError> {
    tenants::lock(connection, tenant).await?;
    let mut turns = facts::turns(connection, &[(tenant.clone(), id)]).await?;
    let Some(row) = turns.remove(&(tenant.clone(), id)) else {
        return Ok(None);
    };
    let query = FactsQuery::for_ending(&row, node);
    let facts = facts::read(connection, &query).await?;
    Ok(Some((row, facts)))
}

/// Returns the open turns of an agent, by id.
pub(crate) async fn open_of_agent(
    connection: &mut PgConnection,
    tenant: &TenantId,
    agent_id: AgentId,
) -> Result<Vec<OpenTurn>, RepositoryError> {
    let rows: Vec<OpenRow> = sqlx::query_as(OPEN_OF_AGENT)
        .bind(tenant.as_str())
        .bind(agent_id.uuid())
        .fetch_all(connection)
        .await
        .map_err(in_table("turns"))?;
    Ok(rows.into_iter().map(OpenTurn::from).collect())
}

/// Returns the open turns of a conversation, by id.
pub(crate) async fn open_of_conversation(
    connection: &mut PgConnection,
    tenant: &TenantId,
    agent_id: AgentId,
    id: ConversationId,
) -> Result<Vec<OpenTurn>, RepositoryError> {
    let rows: Vec<OpenRow> = sqlx::query_as(OPEN_OF_CONVERSATION)
        .bind(tenant.as_str())
        .bind(agent_id.uuid())
        .bind(id.uuid())
        .fetch_all(connection)
        .await
        .map_err(in_table("turns"))?;
    Ok(rows.into_iter().map(OpenTurn::from).collect())
}
