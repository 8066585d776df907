//! Turns of dead nodes, and turns that were queued for too long.

use std::collections::HashSet;

use domain::{ConversationId, TurnId};
use ports::{
    RepositoryError,
    write_store::{SweptConversation, SweptQuery, WaitingTurn, swept_conversations},
};
use relational::{level_permits, milliseconds, page_budget, repositories::SweepSql};
use sqlx::PgConnection;
use uuid::Uuid;

use crate::{PostgresStore, error::in_table};

/// The start of a statement on `lost`: the nodes that are marked as dead or unknown, and have turns
/// in progress. They are found by jumps through the index, one per node.
macro_rules! lost_nodes {
    () => {
        "with recursive holders (node_id) as ( \
             (select r.node_id from turns r where r.status = 'in_progress' \
                 and r.node_id >= '00000000-0000-0000-0000-000000000000' \
                 order by r.node_id limit 1) \
             union all \
             select (select r.node_id from turns r where r.status = 'in_progress' \
                 and r.node_id > h.node_id order by r.node_id limit 1) \
             from holders h where h.node_id is not null), \
         lost as ( \
             select h.node_id from holders h where h.node_id is not null and not exists ( \
                 select 1 from nodes n where n.id = h.node_id and not n.swept)) "
    };
}

/// The condition that the conversation of turn `r` is not deleted. Its deletion dismisses the calls that
/// wait for staff. `offset 0` makes the planner look up the conversation by its whole key.
macro_rules! exists {
    () => {
        "exists (select 1 from conversations c where c.tenant_id = r.tenant_id \
            and c.id = r.conversation_id and num_nonnulls(c.deleted_at) = 0 offset 0) \
         and exists (select 1 from agents a where a.tenant_id = r.tenant_id \
            and a.id = r.agent_id and num_nonnulls(a.deleted_at) = 0 offset 0) and "
    };
}

/// The condition that turn `q` was queued for longer than the first parameter, in milliseconds, and
/// is not left to newer nodes.
macro_rules! is_expired {
    () => {
        concat!(
            "(q.queued_at <= clock_timestamp() - $1 * interval '1 millisecond' \
                and num_nonnulls(q.continues) = 0 and ",
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
            "(select not bool_or(r.status = 'in_progress' or not ",
            level_permits!("r"),
            " and r.queued_seq <= q.queued_seq) from turns r \
             where r.tenant_id = q.tenant_id and r.agent_id = q.agent_id \
             and r.conversation_id = q.conversation_id and r.status in ('queued', 'in_progress'))"
        )
    };
}

relational::statements! {
    const LOST_TURNS: &str = concat!(
        lost_nodes!(),
        "select r.conversation_id, r.id, r.agent_id from lost l cross join lateral ( \
             select r.conversation_id, r.id, r.agent_id from turns r where r.node_id = l.node_id \
                 and r.status = 'in_progress' and r.tenant_id = $1 and ",
        level_permits!("r"),
        " order by r.id limit $2) r \
         union all \
         select r.conversation_id, r.id, r.agent_id from turns r \
         where r.tenant_id = $1 and r.status = 'in_progress' and r.node_id is null \
             and r.action_expires_at is null and ",
        level_permits!("r"),
        " order by 2 limit $2"
    );

    const UNANSWERED_TURNS: &str = concat!(
        "select r.conversation_id, r.id, r.agent_id from turns r \
         where r.action_expires_at <= statement_timestamp() and r.tenant_id = $1 and ",
        exists!(),
        level_permits!("r"),
        " order by r.action_expires_at limit $2"
    );

    /// Expired turns are the oldest ones, so they come first. The condition on `queued_at` holds for
    /// all queued turns: it makes the planner use their index.
    const DUE_CONVERSATIONS: &str = concat!(
        "select q.conversation_id, q.agent_id from turns q \
         where q.tenant_id = $2 and q.status = 'queued' and q.queued_at < 'infinity' and (",
        is_expired!(),
        " or ",
        is_free!(),
        ") group by q.conversation_id, q.agent_id order by min(q.queued_seq) limit $3"
    );

    /// `offset 0` makes the planner look up the conversation by its whole key, as in `join_reply`; both
    /// states make it use the index of open turns.
    const QUEUED_TURNS: &str = concat!(
        "select q.conversation_id, q.id, ",
        is_expired!(),
        " as is_expired \
         from unnest($3::uuid[], $4::uuid[]) as c (id, agent_id) cross join lateral ( \
             select * from turns r where r.tenant_id = $2 and r.agent_id = c.agent_id \
                 and r.conversation_id = c.id and r.status in ('queued', 'in_progress') \
                 and r.status = 'queued' offset 0) q \
         order by q.queued_seq"
    );
}

/// A page of agents.
macro_rules! agents {
    ($filter:literal) => {
        concat!(
            "select a.id, a.config ->> 'retention' from agents a \
             where a.tenant_id = $1 and a.id > $2 and a.deleted_at is null",
            $filter,
            " order by a.id limit $3"
        )
    };
}

impl SweepSql for PostgresStore {
    const IS_OF_ONE_PROCESS: bool = false;

    /// A node whose lease is being renewed is skipped: it is alive. A node whose own lease has expired
    /// marks none, since it may have been cut off together with all others.
    const MARK_DEAD_NODES: &'static str = "\
        with dead as materialized ( \
            select id from nodes where lease_until < clock_timestamp() and not swept and id <> $1 \
                and exists (select from nodes own where own.id = $1 and not own.swept \
                    and own.lease_until >= clock_timestamp()) \
            order by id for update skip locked) \
        update nodes set swept = true from dead where nodes.id = dead.id";

    const DELETE_DEAD_NODES: &'static str = "\
        delete from nodes n where n.swept and (select r.node_id from turns r \
            where r.node_id = n.id and r.status = 'in_progress' limit 1) is null";

    const RELEASE_CLAIMS: &'static str = "\
        with void as materialized ( \
            select tenant_id, principal, operation, key from idempotency_records r \
            where r.claimed_by is not null and not exists (select from nodes n \
                where n.id = r.claimed_by and not n.swept) \
            for update skip locked) \
        delete from idempotency_records r using void v \
        where r.tenant_id = v.tenant_id and r.principal = v.principal \
            and r.operation = v.operation and r.key = v.key";

    const TENANTS_TO_SWEEP: &'static str = concat!(
        lost_nodes!(),
        "select r.tenant_id from lost l cross join lateral ( \
             select distinct r.tenant_id from turns r where r.node_id = l.node_id \
                 and r.status = 'in_progress' and ",
        level_permits!("r"),
        ") r \
         union \
         select r.tenant_id from turns r \
         where r.status = 'in_progress' and r.node_id is null and r.action_expires_at is null and ",
        level_permits!("r"),
        " union \
         select r.tenant_id from turns r where r.action_expires_at <= statement_timestamp() and ",
        exists!(),
        level_permits!("r"),
        " union \
         select q.tenant_id from turns q where q.status = 'queued' and (",
        is_expired!(),
        " or ",
        is_free!(),
        ")"
    );

    const IN_PROGRESS_UNDER: &'static str = concat!(
        "select r.tenant_id, r.conversation_id, r.id from turns r \
         where r.node_id = $1 and r.status = 'in_progress' and ",
        level_permits!("r")
    );

    const AGENTS: &'static str = agents!("");
    const AGENTS_WITH_RETENTION: &'static str =
        agents!(" and a.config ->> 'retention' is not null");

    const IDLE_CONVERSATIONS: &'static str = "\
        select c.id from conversations c \
        where c.tenant_id = $1 and c.agent_id = $2 and c.deleted_at is null \
            and greatest(coalesce(c.last_message_at, c.created_at), c.imported_at) < $3 \
            and (select count(*) from turns r where r.conversation_id = c.id \
                and (r.status in ('queued', 'in_progress') or r.action_expires_at is not null)) = 0 \
        order by greatest(coalesce(c.last_message_at, c.created_at), c.imported_at) limit $4";

    /// The order makes the planner use the index of queued turns.
    const QUEUED: &'static str = concat!(
        "select q.tenant_id, q.conversation_id, q.id from turns q where q.status = 'queued' and ",
        level_permits!("q"),
        " order by q.tenant_id, q.queued_at"
    );
}

/// Returns the conversations with turns to fail or to start, with their queued turns.
pub(crate) async fn swept(
    connection: &mut PgConnection,
    sweep: &SweptQuery,
) -> Result<Vec<SweptConversation>, RepositoryError> {
    let (tenant, limit) = (sweep.tenant.as_str(), page_budget::row_count(sweep.limit));
    let max_wait = milliseconds(sweep.max_wait);
    let lost: Vec<(Uuid, Uuid, Uuid)> = sqlx::query_as(LOST_TURNS)
        .bind(tenant)
        .bind(limit)
        .fetch_all(&mut *connection)
        .await
        .map_err(in_table("turns"))?;
    let unanswered: Vec<(Uuid, Uuid, Uuid)> = sqlx::query_as(UNANSWERED_TURNS)
        .bind(tenant)
        .bind(limit)
        .fetch_all(&mut *connection)
        .await
        .map_err(in_table("turns"))?;
    let due: Vec<(Uuid, Uuid)> = sqlx::query_as(DUE_CONVERSATIONS)
        .bind(max_wait)
        .bind(tenant)
        .bind(limit)
        .fetch_all(&mut *connection)
        .await
        .map_err(in_table("turns"))?;
    let begun = lost.iter().chain(&unanswered);
    let of_begun = begun.map(|(conversation_id, _, agent)| (*conversation_id, *agent));
    let conversation_ids: HashSet<_> = of_begun.chain(due).collect();
    let (conversation_ids, agents): (Vec<_>, Vec<_>) = conversation_ids.into_iter().unzip();
    let waiting: Vec<(Uuid, Uuid, bool)> = sqlx::query_as(QUEUED_TURNS)
        .bind(max_wait)
        .bind(tenant)
        .bind(conversation_ids)
        .bind(agents)
        .fetch_all(connection)
        .await
        .map_err(in_table("turns"))?;
    let address = |(conversation, turn, _)| (ConversationId::new(conversation), TurnId::new(turn));
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
