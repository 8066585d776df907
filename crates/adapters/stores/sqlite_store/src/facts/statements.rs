//! The statements on the facts of a batch.

use relational::{credential_columns, reply_columns, turn_columns, user_columns};

use crate::fragments::join_reply;

relational::statements! {
    pub(super) const HEADS: &str = "\
        select t.id, t.head_seq from json_each(?) q cross join tenants t on t.id = q.value";

    pub(super) const CONVERSATIONS: &str = "\
        select c.tenant_id, c.id, c.agent_id, a.version as agent_version, c.user_id, \
            c.version, c.message_count as last_message_seq, c.superseded_count, \
            c.staff_messages, \
            case when c.superseded_count = 0 and c.staff_messages = 0 then c.message_count else \
                coalesce((select max(m.seq) from messages m where m.tenant_id = c.tenant_id \
                    and m.conversation_id = c.id and m.superseded_at is null and m.author is null), 0) end \
                as visible_message_seq, \
            c.turn_count, c.handled_by, c.waiting_since, c.created_at, c.updated_at, c.last_message_at, \
            (select r.id from turns r where r.tenant_id = c.tenant_id and r.agent_id = c.agent_id \
                and r.conversation_id = c.id and r.status in ('queued', 'in_progress') \
                and r.status = 'in_progress') as running, \
            exists (select 1 from turns r where r.tenant_id = c.tenant_id and r.agent_id = c.agent_id \
                and r.conversation_id = c.id and r.status in ('queued', 'in_progress') \
                and r.action_expires_at is not null) as is_waiting, \
            (select count(*) from turns r where r.tenant_id = c.tenant_id \
                and r.agent_id = c.agent_id and r.conversation_id = c.id \
                and r.status in ('queued', 'in_progress') and r.status = 'queued') as waiting, \
            (select count(*) from turns r where r.tenant_id = c.tenant_id \
                and r.agent_id = c.agent_id and r.conversation_id = c.id \
                and r.status in ('queued', 'in_progress') and r.status = 'queued' \
                and r.continues is not null) as continuations, \
            (select r.id from turns r where r.tenant_id = c.tenant_id and r.agent_id = c.agent_id \
                and r.conversation_id = c.id and r.status in ('queued', 'in_progress') \
                and r.status = 'queued' order by r.queued_seq limit 1) as first_waiting \
        from json_each(?) q \
        cross join conversations c \
            on c.tenant_id = q.value ->> 0 and c.id = unhex(q.value ->> 1) \
        cross join agents a on a.tenant_id = c.tenant_id and a.id = c.agent_id \
        where c.deleted_at is null and a.deleted_at is null";

    pub(super) const AGENTS: &str = "\
        select a.tenant_id, a.id, a.version from json_each(?) q \
        cross join agents a on a.tenant_id = q.value ->> 0 and a.id = unhex(q.value ->> 1) \
        where a.deleted_at is null";

    pub(super) const EXISTING_AGENTS: &str = "\
        select a.tenant_id, a.id from json_each(?) q \
        cross join agents a on a.tenant_id = q.value ->> 0 and a.id = unhex(q.value ->> 1)";

    pub(super) const TURNS: &str = concat!(
        "select ",
        turn_columns!(),
        ", ",
        reply_columns!(),
        " from json_each(?) q \
         cross join turns r on r.tenant_id = q.value ->> 0 and r.id = unhex(q.value ->> 1)",
        join_reply!()
    );

    pub(super) const NAMED: &str = "\
        select c.tenant_id, c.agent_id, c.user_id, c.key, c.id from json_each(?) q \
        cross join conversations c on c.tenant_id = q.value ->> 0 \
            and c.agent_id = unhex(q.value ->> 1) and coalesce(c.user_id, '') = q.value ->> 2 \
            and c.key = q.value ->> 3 \
        where c.key is not null and c.deleted_at is null";

    pub(super) const CREDENTIALS: &str = "\
        select c.id, c.tenant_id, c.kind, c.revoked_at is not null \
        from json_each(?) q cross join credentials c on c.id = q.value";

    pub(super) const WHOLE_CREDENTIALS: &str = concat!(
        "select ",
        credential_columns!(),
        " from credentials where id in (select value from json_each(?))"
    );

    pub(super) const USERS: &str = concat!(
        "select u.tenant_id, ",
        user_columns!(),
        " from json_each(?) q cross join users u \
            on u.tenant_id = q.value ->> 0 and u.user_id = q.value ->> 1"
    );

    pub(super) const NOTES: &str = "\
        select n.tenant_id, n.conversation_id, n.id from json_each(?) q \
        cross join conversation_notes n on n.tenant_id = q.value ->> 0 \
            and n.conversation_id = unhex(q.value ->> 1) and n.id = unhex(q.value ->> 2)";

    /// Files, with each conversation that uses them.
    pub(super) const FILES: &str = "\
        with q as materialized ( \
            select value ->> 0 as tenant, unhex(value ->> 1) as id from json_each(?)), \
        u as ( \
            select m.tenant_id, m.file_id, m.conversation_id, 0 as is_by_notes from q \
            cross join file_uses m on m.tenant_id = q.tenant and m.file_id = q.id \
            union all select distinct n.tenant_id, n.file_id, n.conversation_id, 1 from q \
            cross join note_file_uses n on n.tenant_id = q.tenant and n.file_id = q.id) \
        select f.tenant_id, f.id, f.expires_at, u.conversation_id, u.is_by_notes from q \
        cross join files f on f.tenant_id = q.tenant and f.id = q.id \
        left join u on u.tenant_id = f.tenant_id and u.file_id = f.id";

    pub(super) const UPLOADS: &str = "\
        select u.tenant_id, u.principal, u.ends_at, u.files, u.bytes from json_each(?) q \
        cross join uploads u on u.tenant_id = q.value ->> 0 and u.principal = q.value ->> 1 \
            and u.ends_at = q.value ->> 2";

    /// Messages, with their ratings by one principal each, if they have them.
    pub(super) const FEEDBACK: &str = "\
        select m.tenant_id, m.conversation_id, m.seq as message_seq, q.value ->> 3 as principal, \
            f.rating, f.comment, f.updated_at, c.user_id as owner \
        from json_each(?) q \
        cross join messages m on m.tenant_id = q.value ->> 0 \
            and m.conversation_id = unhex(q.value ->> 1) and m.seq = q.value ->> 2 \
        cross join conversations c on c.tenant_id = m.tenant_id and c.id = m.conversation_id \
        left join feedback f on f.tenant_id = m.tenant_id and f.conversation_id = m.conversation_id \
            and f.message_seq = m.seq and f.principal = q.value ->> 3";

    pub(super) const RECORDS: &str = "\
        select r.tenant_id, r.principal, r.operation, r.key, r.fingerprint, r.turn_id, \
            r.released_into, r.released_by, r.answer, r.created_at \
        from json_each(?) q cross join idempotency_records r \
            on r.tenant_id = q.value ->> 0 and r.principal = q.value ->> 1 \
            and r.operation = q.value ->> 2 and r.key = q.value ->> 3";

    pub(super) const LIVE_NODES: &str = "\
        select n.id from json_each(?) q cross join nodes n on n.id = unhex(q.value) \
        where n.swept = 0";

    pub(super) const JOURNALS: &str = "\
        select s.tenant_id, s.turn_id, s.body from json_each(?) q \
        cross join turn_steps s \
            on s.tenant_id = q.value ->> 0 and s.turn_id = unhex(q.value ->> 1) \
        order by s.tenant_id, s.turn_id, s.number";

    pub(super) const RUNNING_TURNS: &str = "\
        select r.tenant_id, r.id, r.node_id from json_each(?) q \
        cross join turns r on r.tenant_id = q.value ->> 0 and r.id = unhex(q.value ->> 1) \
        where r.status = 'in_progress' and r.node_id = unhex(q.value ->> 2)";

    pub(super) const LOGGED: &str = "\
        select e.tenant_id, e.seq, e.type, e.time, e.actor, e.agent_id, e.conversation_id, e.turn_id \
        from json_each(?) q cross join events e \
            on e.tenant_id = q.value ->> 0 and e.seq > q.value ->> 1 \
        where e.conversation_id in (select unhex(value) from json_each(?)) \
            or e.conversation_id is null \
                and e.agent_id in (select unhex(value) from json_each(?)) \
        order by e.tenant_id, e.seq";
}
