//! The statements on the event log.

use relational::{
    conversation_columns, feedback_columns, message_columns, reply_columns, repositories::EventSql,
    turn_columns,
};

use crate::{
    PostgresStore,
    fragments::{join_reply, open_turns, visible},
};

/// The condition that the conversation of event `e` belongs to user 11: it did at the time of the event, and
/// has not moved away since, or it has moved to user 11. The first subquery is no
/// `exists`, which the planner could answer by reading every conversation once.
macro_rules! own {
    () => {
        "(e.user_id is not distinct from $11 and not coalesce(( \
                select o.user_id is distinct from $11 from conversations o \
                where o.tenant_id = e.tenant_id and o.id = e.conversation_id \
                    and num_nonnulls(o.deleted_at) = 0), false) \
            or e.conversation_id in (select o.id from conversations o \
                where o.tenant_id = $1 and o.user_id = $11 and o.deleted_at is null))"
    };
}

/// The condition that user 11 has lost a conversation by event `e`, which is a deletion to that user.
macro_rules! lost {
    () => {
        concat!(
            "($11::text is not null and e.type = 'conversation.updated' \
                and e.data -> 'moved' ->> 'from' = $11 and not ",
            own!(),
            ")"
        )
    };
}

/// The condition on events `e`: after a position, within the scan length, and passing the filters.
macro_rules! filtered {
    () => {
        concat!(
            "where e.tenant_id = $1 and e.seq > $2 and e.seq <= $2 + $4 \
            and ($5::text[] is null or case when ",
            lost!(),
            " then 'conversation.deleted' else e.type end = any($5)) \
            and ($6::uuid is null or e.agent_id = $6) \
            and ($7::uuid is null or e.conversation_id = $7) \
            and ($12::uuid[] is null or e.agent_id = any($12)) \
            and (e.type <> 'message.rated' or $14 or num_nonnulls(e.data ->> 'principal') = 0) \
            and case when e.type in ('user.updated', 'user.erased') then $13 \
                when e.conversation_id is null \
                then $8 and (e.agent_id is not null or $9 and $11::text is null) \
                when ",
            lost!(),
            " then $9 \
                else ($9 or exists (select 1 from turns r where r.tenant_id = e.tenant_id \
                        and r.id = e.turn_id and r.principal = $10)) \
                    and ($11::text is null or ",
            own!(),
            ") end"
        )
    };
}

impl EventSql for PostgresStore {
    /// Scans at most as many events as one page may, instead of the whole log for one match. Events
    /// without a conversation belong to agents or users. Without the tenant's row there is no log. Only the size
    /// of the content is read, and computed where a node of an earlier version did not store it. Input
    /// and reply of a turn count twice, since an event contains them in the turn and as the message.
    /// `offset 0` makes the planner look up the conversation by its whole key.
    const PAGE: &'static str = concat!(
        "select t.first_seq, t.head_seq, e.seq, e.type, e.time, e.agent_id, e.conversation_id, \
            case when o.id is null then e.user_id else o.user_id end as user_id, \
            e.turn_id, e.actor, \
            case when e.type not in ('agent.created', 'agent.updated') then e.data end as data, \
            exists (select 1 from agents a where a.tenant_id = t.id and a.id = e.agent_id \
                and num_nonnulls(a.deleted_at) = 0) as agent_exists, \
            o.id is not null as conversation_exists, \
            (select r.principal from turns r where r.tenant_id = t.id and r.id = e.turn_id) as started_by, \
            coalesce( \
                case when e.type in ('agent.created', 'agent.updated') \
                    then coalesce(e.bytes, octet_length(e.data::text)) end, \
                (select 2 * (octet_length(to_json(r.input)::text) + coalesce((select octet_length(to_json(m.content)::text) \
                        from messages m where m.tenant_id = r.tenant_id \
                            and m.conversation_id = r.conversation_id and m.seq = r.reply_seq), 0)) \
                        + coalesce(octet_length(r.tool_calls::text), 0) \
                        + coalesce(octet_length(r.metadata::text), 0) \
                    from turns r where r.tenant_id = t.id and r.id = e.turn_id), \
                (select octet_length(c.metadata::text) + coalesce(octet_length(c.context), 0) \
                        + coalesce((select octet_length(to_json(m.content)::text) \
                        from messages m where m.tenant_id = c.tenant_id \
                            and m.conversation_id = c.id and m.seq = 1), 0) \
                    from conversations c where c.tenant_id = t.id and c.id = e.conversation_id \
                        and e.type in ('conversation.created', 'conversation.updated')), \
                (select octet_length(to_json(m.content)::text) from messages m \
                    where m.tenant_id = t.id and m.conversation_id = e.conversation_id \
                        and m.seq = (e.data ->> 'seq')::bigint \
                        and e.type in ('message.created', 'message.updated')), \
                (select octet_length(to_json(f.comment)::text) from feedback f \
                    where f.tenant_id = t.id and f.conversation_id = e.conversation_id \
                        and f.message_seq = (e.data ->> 'seq')::bigint \
                        and f.principal = coalesce(e.data ->> 'principal', '') \
                        and e.type = 'message.rated'), \
                0)::bigint as bytes \
        from tenants t left join lateral ( select * from events e ",
        filtered!(),
        " order by e.seq limit $3) e \
            on $2 + 1 >= t.first_seq and $2 <= t.head_seq \
        left join lateral (select c.id, c.user_id from conversations c where c.tenant_id = t.id \
            and c.id = e.conversation_id and num_nonnulls(c.deleted_at) = 0 offset 0) o on true \
        where t.id = $1 order by e.seq"
    );

    /// Counts at most as many events as the limit allows.
    const COUNT: &'static str = concat!(
        "select count(*) from (select 1 from events e ",
        filtered!(),
        " limit $3) e"
    );

    /// `offset 0` makes the planner look up the turn by its whole key, as in `join_reply`.
    const TURNS: &'static str = concat!(
        "select ",
        turn_columns!("null::jsonb"),
        ", ",
        reply_columns!(),
        " from unnest($2::uuid[]) q (id) cross join lateral (select * from turns r \
         where r.tenant_id = $1 and r.id = q.id offset 0) r ",
        join_reply!()
    );

    const CONVERSATIONS: &'static str = concat!(
        "select ",
        conversation_columns!(open_turns!()),
        " from conversations c where c.tenant_id = $1 and c.id = any($2) and ",
        visible!()
    );

    const MESSAGES: &'static str = concat!(
        "select ",
        message_columns!(),
        " from unnest($2::uuid[], $3::bigint[]) as q (id, seq) \
         cross join lateral (select * from messages m \
            where m.tenant_id = $1 and m.conversation_id = q.id and m.seq = q.seq limit 1) m"
    );

    const FEEDBACK: &'static str = concat!(
        "select ",
        feedback_columns!(),
        " from unnest($2::uuid[], $3::bigint[], $4::text[]) as q (conversation, seq, principal) \
         cross join lateral (select * from feedback f where f.tenant_id = $1 \
            and f.conversation_id = q.conversation and f.message_seq = q.seq \
            and f.principal = q.principal limit 1) f \
         cross join lateral (select * from conversations c where c.tenant_id = $1 \
            and c.id = f.conversation_id limit 1) c"
    );

    const SNAPSHOTS: &'static str = "\
        select seq, data as agent from events where tenant_id = $1 and seq = any($2)";
}
