//! Turns.

use std::collections::HashMap;

use domain::{AgentId, AsOf, ConversationId, TenantId, TurnId};
use ports::{FoundTurn, RepositoryError};
use relational::{
    Facts, FactsQuery, InTenant, TurnRow,
    plan::OpenTurn,
    read, reply_columns,
    repositories::TurnSql,
    stored::{StoredOpenTurn, StoredTurnWithUser},
    turn_columns,
};
use sqlx::SqliteConnection;

use crate::{SqliteStore, error::in_table, facts, fragments::join_reply};

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

impl TurnSql for SqliteStore {
    async fn find_turn(
        &self,
        tenant: &TenantId,
        id: TurnId,
    ) -> Result<AsOf<Option<FoundTurn>>, RepositoryError> {
        let find = sqlx::query(FIND).bind(tenant.as_str()).bind(id.uuid());
        let row = self.fetch_optional(find).await?;
        read::as_of_one("turns", row.as_ref(), |row: StoredTurnWithUser| {
            row.try_into()
        })
    }

    async fn read_facts(
        connection: &mut SqliteConnection,
        query: &FactsQuery,
    ) -> Result<Facts, RepositoryError> {
        facts::read(connection, query).await
    }

    async fn read_turns(
        connection: &mut SqliteConnection,
        wanted: &[InTenant<TurnId>],
    ) -> Result<HashMap<InTenant<TurnId>, TurnRow>, RepositoryError> {
        facts::turns(connection, wanted).await
    }

    async fn open_turns_of_agent(
        connection: &mut SqliteConnection,
        tenant: &TenantId,
        agent_id: AgentId,
    ) -> Result<Vec<OpenTurn>, RepositoryError> {
        let rows: Vec<StoredOpenTurn> = sqlx::query_as(OPEN_OF_AGENT)
            .bind(tenant.as_str())
            .bind(agent_id.uuid())
            .fetch_all(connection)
            .await
            .map_err(in_table("turns"))?;
        Ok(rows.into_iter().map(OpenTurn::from).collect())
    }
}

/// Returns the open turns of a conversation, by id.
pub(crate) async fn open_turns_of_conversation(
    connection: &mut SqliteConnection,
    tenant: &TenantId,
    agent_id: AgentId,
    id: ConversationId,
) -> Result<Vec<OpenTurn>, RepositoryError> {
    let rows: Vec<StoredOpenTurn> = sqlx::query_as(OPEN_OF_CONVERSATION)
        .bind(tenant.as_str())
        .bind(agent_id.uuid())
        .bind(id.uuid())
        .fetch_all(connection)
        .await
        .map_err(in_table("turns"))?;
    Ok(rows.into_iter().map(OpenTurn::from).collect())
}
