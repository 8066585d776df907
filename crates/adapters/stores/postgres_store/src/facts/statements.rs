//! The statements on the facts of a batch.

use relational::{credential_columns, reply_columns, turn_columns, user_columns};

use crate::fragments::{file_uses, join_reply, runs_on};

relational::statements! {
    /// The tenant lock. It is a statement of its own, because other conditions in it would see the
    /// state from before the wait. Everything that decisions depend on is read by later statements.
    pub(super) const LOCK: &str = "\
        select id, head_seq from tenants where id = any($1) order by id for update";

    /// Returns at least one row, for the nodes. The laterals with their limits make the planner look up
    /// each conversation by its key: for joins, it might read a whole tenant in every batch.
    pub(super) const CONVERSATIONS_AND_NODES: &str = "\
        select n.live_nodes, c.* \
        from (select array(select id from nodes where id = any($3) and not swept) as live_nodes) n \
        left join (select c.tenant_id, c.id, c.agent_id, a.version as agent_version, c.user_id, \
            c.version, c.message_count as last_message_seq, c.superseded_count, \
            c.staff_messages, \
            case when c.superseded_count = 0 and c.staff_messages = 0 then c.message_count else \
                coalesce((select max(m.seq) from messages m where m.tenant_id = c.tenant_id \
                    and m.conversation_id = c.id and num_nonnulls(m.superseded_at, m.author) = 0), 0) end \
                as visible_message_seq, \
            c.turn_count, c.handled_by, c.waiting_since, c.created_at, c.updated_at, c.last_message_at, \
            o.running, o.is_waiting, o.waiting, o.continuations, o.first_waiting \
        from unnest($1::text[], $2::uuid[]) as q (tenant_id, id) \
        cross join lateral ( \
            select * from conversations c where c.tenant_id = q.tenant_id and c.id = q.id \
                and num_nonnulls(c.deleted_at) = 0 limit 1) c \
        cross join lateral ( \
            select a.version from agents a where a.tenant_id = c.tenant_id and a.id = c.agent_id \
                and num_nonnulls(a.deleted_at) = 0 limit 1) a \
        cross join lateral ( \
            select (array_agg(r.id) filter (where r.status = 'in_progress'))[1] as running, \
                coalesce(bool_or(num_nonnulls(r.action_expires_at) = 1), false) as is_waiting, \
                count(*) filter (where r.status = 'queued') as waiting, \
                count(*) filter (where r.status = 'queued' and num_nonnulls(r.continues) = 1) \
                    as continuations, \
                (array_agg(r.id order by r.queued_seq) \
                    filter (where r.status = 'queued'))[1] as first_waiting \
            from turns r where r.tenant_id = c.tenant_id and r.agent_id = c.agent_id \
                and r.conversation_id = c.id and r.status in ('queued', 'in_progress')) o) c on true";

    pub(super) const AGENTS: &str = "\
        select a.tenant_id, a.id, a.version \
        from unnest($1::text[], $2::uuid[]) as q (tenant_id, id) \
        join agents a on a.tenant_id = q.tenant_id and a.id = q.id \
        where num_nonnulls(a.deleted_at) = 0";

    /// Heads, without an agent, and versions of agents, in one snapshot.
    pub(super) const HEADS_AND_AGENTS: &str = "\
        select t.id, null::uuid, t.head_seq from tenants t where t.id = any($1) \
        union all \
        select a.tenant_id, a.id, a.version \
        from unnest($2::text[], $3::uuid[]) as q (tenant_id, id) \
        join agents a on a.tenant_id = q.tenant_id and a.id = q.id \
        where num_nonnulls(a.deleted_at) = 0";

    pub(super) const EXISTING_AGENTS: &str = "\
        select a.tenant_id, a.id from unnest($1::text[], $2::uuid[]) as q (tenant_id, id) \
        join agents a on a.tenant_id = q.tenant_id and a.id = q.id";

    pub(super) const TURNS: &str = concat!(
        "select ",
        turn_columns!(),
        ", ",
        reply_columns!(),
        " from unnest($1::text[], $2::uuid[]) as q (tenant_id, id) \
         join turns r on r.tenant_id = q.tenant_id and r.id = q.id",
        join_reply!()
    );

    /// `deleted_at is null` stands as in the condition of the index.
    pub(super) const NAMED: &str = "\
        select c.tenant_id, c.agent_id, c.user_id, c.key, c.id \
        from unnest($1::text[], $2::uuid[], $3::text[], $4::text[]) as q (tenant_id, agent, owner, key) \
        cross join lateral (select * from conversations c where c.tenant_id = q.tenant_id \
            and c.agent_id = q.agent and coalesce(c.user_id, '') = q.owner and c.key = q.key \
            and c.deleted_at is null limit 1) c";

    /// Locks them in the order of their ids: they may be changed by several statements, and the recording
    /// of uses, which locks no tenant, has the same order.
    pub(super) const CREDENTIALS: &str = "\
        select id, tenant_id, kind, revoked_at is not null from credentials where id = any($1) \
        order by id for update";

    pub(super) const WHOLE_CREDENTIALS: &str = concat!(
        "select ",
        credential_columns!(),
        " from credentials where id = any($1)"
    );

    pub(super) const USERS: &str = concat!(
        "select u.tenant_id, ",
        user_columns!(),
        " from unnest($1::text[], $2::text[]) as q (tenant, id) \
            join users u on u.tenant_id = q.tenant and u.user_id = q.id"
    );

    pub(super) const NOTES: &str = "\
        select n.tenant_id, n.conversation_id, n.id \
        from unnest($1::text[], $2::uuid[], $3::uuid[]) as q (tenant, conversation, id) \
        join conversation_notes n on n.tenant_id = q.tenant \
            and n.conversation_id = q.conversation and n.id = q.id";

    /// Files, with each conversation that uses them.
    pub(super) const FILES: &str = concat!(
        "select f.tenant_id, f.id, f.expires_at, u.conversation_id, u.is_by_notes \
        from unnest($1::text[], $2::uuid[]) as q (tenant, id) \
        join files f on f.tenant_id = q.tenant and f.id = q.id ",
        file_uses!()
    );

    pub(super) const UPLOADS: &str = "\
        select u.tenant_id, u.principal, u.ends_at, u.files, u.bytes \
        from unnest($1::text[], $2::text[], $3::timestamptz[]) as q (tenant, principal, ends_at) \
        join uploads u on u.tenant_id = q.tenant and u.principal = q.principal \
            and u.ends_at = q.ends_at";

    /// Messages, with their ratings by one principal each, if they have them.
    pub(super) const FEEDBACK: &str = "\
        select q.tenant as tenant_id, m.conversation_id, m.seq as message_seq, q.principal, \
            f.rating, f.comment, f.updated_at, c.user_id as owner \
        from unnest($1::text[], $2::uuid[], $3::bigint[], $4::text[]) \
            as q (tenant, conversation, seq, principal) \
        cross join lateral (select * from messages m where m.tenant_id = q.tenant \
            and m.conversation_id = q.conversation and m.seq = q.seq limit 1) m \
        cross join lateral (select * from conversations c where c.tenant_id = q.tenant \
            and c.id = q.conversation limit 1) c \
        left join lateral (select * from feedback f where f.tenant_id = q.tenant \
            and f.conversation_id = q.conversation and f.message_seq = q.seq \
            and f.principal = q.principal limit 1) f on true";

    pub(super) const RECORDS: &str = "\
        select r.tenant_id, r.principal, r.operation, r.key, r.fingerprint, r.turn_id, \
            r.released_into, r.released_by, r.answer, r.created_at \
        from unnest($1::text[], $2::text[], $3::text[], $4::text[]) \
            as q (tenant_id, principal, operation, key) \
        join idempotency_records r on r.tenant_id = q.tenant_id and r.principal = q.principal \
            and r.operation = q.operation and r.key = q.key";

    pub(super) const JOURNALS: &str = "\
        select s.tenant_id, s.turn_id, s.body \
        from unnest($1::text[], $2::uuid[]) as q (tenant_id, id) \
        join turn_steps s on s.tenant_id = q.tenant_id and s.turn_id = q.id \
        order by s.tenant_id, s.turn_id, s.number";

    pub(super) const RUNNING_TURNS: &str = concat!(
        "select r.tenant_id, r.id, r.node_id \
        from unnest($1::text[], $2::uuid[], $3::uuid[]) as q (tenant_id, id, node_id) \
        join turns r on r.tenant_id = q.tenant_id and r.id = q.id and ",
        runs_on!("q.node_id")
    );

    pub(super) const LOGGED: &str = "\
        select e.tenant_id, e.seq, e.type, e.time, e.actor, e.agent_id, e.conversation_id, e.turn_id \
        from unnest($1::text[], $2::bigint[]) as q (tenant_id, seq) \
        join events e on e.tenant_id = q.tenant_id and e.seq > q.seq \
        where e.conversation_id = any($3) \
            or e.conversation_id is null and e.agent_id = any($4) \
        order by e.tenant_id, e.seq";
}
