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
use sqlx::{FromRow, Row, SqliteConnection, sqlite::SqliteRow};
use uuid::Uuid;

use crate::{
    SqliteStore,
    error::{from_sqlx, in_table},
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
                and case when r.status = 'cancelled' then r.finished_at else -1 end \
                    < coalesce(d.deleted_at, (select a.deleted_at from agents a \
                        where a.tenant_id = d.tenant_id and a.id = d.agent_id))) "
    };
}

const FIND: &str = concat!(
    "select t.head_seq, c.user_id as owner, ",
    turn_columns!(),
    ", ",
    reply_columns!(),
    " from tenants t left join turns r on r.tenant_id = t.id and r.id = ?2 ",
    unless_deleted!(),
    join_reply!(),
    "left join conversations c on c.tenant_id = r.tenant_id and c.id = r.conversation_id \
     where t.id = ?1"
);
const OPEN_OF_AGENT: &str = "\
    select r.id, r.conversation_id, r.agent_id, c.user_id, \
        coalesce(r.started_at, r.created_at) as latest_time \
    from turns r indexed by turns_open left join conversations c \
        on c.tenant_id = r.tenant_id and c.id = r.conversation_id \
    where r.tenant_id = ?1 and r.agent_id = ?2 and r.status in ('queued', 'in_progress') \
    order by r.id";
const OPEN_OF_CONVERSATION: &str = "\
    select r.id, r.conversation_id, r.agent_id, c.user_id, \
        coalesce(r.started_at, r.created_at) as latest_time \
    from turns r indexed by turns_open left join conversations c \
        on c.tenant_id = r.tenant_id and c.id = r.conversation_id \
    where r.tenant_id = ?1 and r.agent_id = ?2 and r.conversation_id = ?3 \
        and r.status in ('queued', 'in_progress') \
    order by r.id";

/// The statements of this file.
pub(crate) const STATEMENTS: &[&str] = &[FIND, OPEN_OF_AGENT, OPEN_OF_CONVERSATION];

struct FoundRow {
    turn: TurnWithReply,
    owner: Option<String>,
}

impl<'r> FromRow<'r, SqliteRow> for FoundRow {
    fn from_row(row: &'r SqliteRow) -> Result<Self, sqlx::Error> {
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
    latest_time: i64,
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

/// Turns in SQLite.
pub(crate) struct SqliteTurns {
    pub(crate) store: SqliteStore,
}

#[async_trait]
impl TurnRepository for SqliteTurns {
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
            .writer
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
        let row = sqlx::query(FIND)
            .bind(tenant.as_str())
            .bind(id.uuid())
            .fetch_optional(&self.store.readers)
            .await
            .map_err(from_sqlx)?;
        row::as_of_one("turns", row.as_ref(), |row: FoundRow| row.try_into())
    }
}

async fn cancel(
    connection: &mut SqliteConnection,
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
    connection: &mut SqliteConnection,
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
    connection: &mut SqliteConnection,
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
    connection: &mut SqliteConnection,
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
