//! Turns of dead nodes, and turns that were queued for too long.

use std::collections::HashSet;

use domain::{ConversationId, TurnId};
use ports::{
    RepositoryError,
    write_store::{SweptConversation, SweptQuery, WaitingTurn, swept_conversations},
};
use relational::{level_permits, milliseconds, page_budget, repositories::SweepSql};
use sqlx::{SqliteConnection, types::Json};
use uuid::Uuid;

use crate::{SqliteStore, error::in_table};

/// The start of a statement on `lost`: the nodes that are marked as dead or unknown, and have turns
/// in progress. They are found by jumps through the index, one per node.
macro_rules! lost_nodes {
    () => {
        "with recursive holders (node_id) as ( \
             select * from (select r.node_id from turns r where r.status = 'in_progress' \
                 and r.node_id > x'' order by r.node_id limit 1) \
             union all \
             select (select r.node_id from turns r where r.status = 'in_progress' \
                 and r.node_id > holders.node_id order by r.node_id limit 1) \
             from holders where holders.node_id is not null), \
         lost as ( \
             select node_id from holders where node_id is not null and not exists ( \
                 select 1 from nodes n where n.id = holders.node_id and n.swept = 0)) "
    };
}

/// The condition that the conversation of turn `r` is not deleted. Its deletion dismisses the calls that
/// wait for staff.
macro_rules! exists {
    () => {
        "exists (select 1 from conversations c join agents a \
            on a.tenant_id = c.tenant_id and a.id = c.agent_id \
            where c.tenant_id = r.tenant_id and c.id = r.conversation_id \
            and c.deleted_at is null and a.deleted_at is null) and "
    };
}

/// The condition that turn `q` was queued for longer than the first parameter, in milliseconds, and
/// is not left to newer nodes.
macro_rules! is_expired {
    () => {
        concat!(
            "(q.queued_at <= ",
            now!(),
            " - ?1 and q.continues is null and ",
            level_permits!("q"),
            ")"
        )
    };
}

/// The condition that nothing in its conversation keeps turn `q` from starting: no turn in progress,
/// and none before it that is left to newer nodes.
macro_rules! is_free {
    () => {
        concat!(
            "not exists (select 1 from turns r where r.tenant_id = q.tenant_id \
             and r.agent_id = q.agent_id and r.conversation_id = q.conversation_id \
             and r.status in ('queued', 'in_progress') and (r.status = 'in_progress' or not ",
            level_permits!("r"),
            " and r.queued_seq <= q.queued_seq))"
        )
    };
}

relational::statements! {
    const LOST_TURNS: &str = concat!(
        lost_nodes!(),
        "select r.conversation_id, r.id from lost cross join turns r indexed by turns_running_by_node \
             on r.node_id = lost.node_id and r.status = 'in_progress' and r.tenant_id = ?1 and ",
        level_permits!("r"),
        " union all \
         select r.conversation_id, r.id from turns r indexed by turns_unowned \
         where r.tenant_id = ?1 and r.status = 'in_progress' and r.node_id is null \
             and r.action_expires_at is null and ",
        level_permits!("r"),
        " order by 2 limit ?2"
    );

    const UNANSWERED_TURNS: &str = concat!(
        "select r.conversation_id, r.id from turns r indexed by turns_by_action_expiry \
         where r.action_expires_at <= ",
        now!(),
        " and r.tenant_id = ?1 and ",
        exists!(),
        level_permits!("r"),
        " order by r.action_expires_at limit ?2"
    );

    /// Expired turns are the oldest ones, so they come first.
    const DUE_CONVERSATIONS: &str = concat!(
        "select q.conversation_id from turns q indexed by turns_waiting \
         where q.tenant_id = ?2 and q.status = 'queued' and (",
        is_expired!(),
        " or ",
        is_free!(),
        ") group by q.conversation_id order by min(q.queued_seq) limit ?3"
    );

    const QUEUED_TURNS: &str = concat!(
        "select q.conversation_id, q.id, ",
        is_expired!(),
        " as is_expired \
         from json_each(?3) c cross join conversations t \
             on t.tenant_id = ?2 and t.id = unhex(c.value) \
         cross join turns q on q.tenant_id = ?2 and q.agent_id = t.agent_id \
             and q.conversation_id = t.id and q.status in ('queued', 'in_progress') \
             and q.status = 'queued' \
         order by q.queued_seq"
    );
}

/// A page of agents.
macro_rules! agents {
    ($filter:literal) => {
        concat!(
            "select a.id, a.config ->> 'retention' from agents a \
             where a.tenant_id = ?1 and a.id > ?2 and a.deleted_at is null",
            $filter,
            " order by a.id limit ?3"
        )
    };
}

impl SweepSql for SqliteStore {
    const IS_OF_ONE_PROCESS: bool = true;

    /// This process holds the lock of the store, so all other nodes are dead.
    const MARK_DEAD_NODES: &'static str = "update nodes set swept = 1 where swept = 0 and id <> ?1";

    const DELETE_DEAD_NODES: &'static str = "\
        delete from nodes where swept = 1 and not exists (select 1 from turns r \
            where r.node_id = nodes.id and r.status = 'in_progress')";

    const RELEASE_CLAIMS: &'static str = "\
        delete from idempotency_records where claimed_by is not null and not exists ( \
            select 1 from nodes n where n.id = idempotency_records.claimed_by and n.swept = 0)";

    const TENANTS_TO_SWEEP: &'static str = concat!(
        lost_nodes!(),
        "select r.tenant_id from lost cross join turns r indexed by turns_running_by_node \
             on r.node_id = lost.node_id and r.status = 'in_progress' and ",
        level_permits!("r"),
        " union \
         select r.tenant_id from turns r indexed by turns_unowned \
         where r.status = 'in_progress' and r.node_id is null and r.action_expires_at is null and ",
        level_permits!("r"),
        " union \
         select r.tenant_id from turns r indexed by turns_by_action_expiry \
         where r.action_expires_at <= ",
        now!(),
        " and ",
        exists!(),
        level_permits!("r"),
        " union \
         select q.tenant_id from turns q indexed by turns_waiting where q.status = 'queued' and (",
        is_expired!(),
        " or ",
        is_free!(),
        ")"
    );

    const IN_PROGRESS_UNDER: &'static str = concat!(
        "select r.tenant_id, r.conversation_id, r.id from turns r \
         where r.node_id = ?1 and r.status = 'in_progress' and ",
        level_permits!("r")
    );

    const AGENTS: &'static str = agents!("");
    const AGENTS_WITH_RETENTION: &'static str =
        agents!(" and a.config ->> 'retention' is not null");

    const IDLE_CONVERSATIONS: &'static str = "\
        select c.id from conversations c indexed by conversations_by_idleness \
        where c.tenant_id = ?1 and c.agent_id = ?2 and c.deleted_at is null \
            and max(coalesce(c.last_message_at, c.created_at), coalesce(c.imported_at, 0)) < ?3 \
            and (select count(*) from turns r where r.conversation_id = c.id \
                and (r.status in ('queued', 'in_progress') or r.action_expires_at is not null)) = 0 \
        order by max(coalesce(c.last_message_at, c.created_at), coalesce(c.imported_at, 0)) limit ?4";

    const QUEUED: &'static str = concat!(
        "select q.tenant_id, q.conversation_id, q.id from turns q indexed by turns_waiting \
         where q.status = 'queued' and ",
        level_permits!("q")
    );
}

/// Returns the conversations with turns to fail or to start, with their queued turns.
pub(crate) async fn swept(
    connection: &mut SqliteConnection,
    sweep: &SweptQuery,
) -> Result<Vec<SweptConversation>, RepositoryError> {
    let (tenant, limit) = (sweep.tenant.as_str(), page_budget::row_count(sweep.limit));
    let max_wait = milliseconds(sweep.max_wait);
    let lost: Vec<(Uuid, Uuid)> = sqlx::query_as(LOST_TURNS)
        .bind(tenant)
        .bind(limit)
        .fetch_all(&mut *connection)
        .await
        .map_err(in_table("turns"))?;
    let unanswered: Vec<(Uuid, Uuid)> = sqlx::query_as(UNANSWERED_TURNS)
        .bind(tenant)
        .bind(limit)
        .fetch_all(&mut *connection)
        .await
        .map_err(in_table("turns"))?;
    let due: Vec<Uuid> = sqlx::query_scalar(DUE_CONVERSATIONS)
        .bind(max_wait)
        .bind(tenant)
        .bind(limit)
        .fetch_all(&mut *connection)
        .await
        .map_err(in_table("turns"))?;
    let begun = lost.iter().chain(&unanswered);
    let of_begun = begun.map(|(conversation_id, _)| *conversation_id);
    let conversation_ids: HashSet<_> = of_begun.chain(due).map(Uuid::simple).collect();
    let waiting: Vec<(Uuid, Uuid, bool)> = sqlx::query_as(QUEUED_TURNS)
        .bind(max_wait)
        .bind(tenant)
        .bind(Json(&conversation_ids))
        .fetch_all(connection)
        .await
        .map_err(in_table("turns"))?;
    let address = |(conversation, turn)| (ConversationId::new(conversation), TurnId::new(turn));
    let lost = lost.into_iter().map(address);
    let unanswered = unanswered.into_iter().map(address);
    let waiting = waiting
        .into_iter()
        .map(|(conversation_id, turn, is_expired)| {
            let id = TurnId::new(turn);
            (
                ConversationId::new(conversation_id),
                WaitingTurn { id, is_expired },
            )
        });
    Ok(swept_conversations(lost, unanswered, waiting))
}
