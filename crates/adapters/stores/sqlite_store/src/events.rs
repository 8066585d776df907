//! The statements on the event log.

use relational::{
    conversation_columns, feedback_columns, message_columns, reply_columns, repositories::EventSql,
    turn_columns,
};

use crate::{
    SqliteStore,
    fragments::{join_reply, open_turns, visible},
};

/// The condition that the conversation of event `e` belongs to user 11: it did at the time of the event, and
/// has not moved away since, or it has moved to user 11.
macro_rules! own {
    () => {
        "(e.user_id is ?11 and not exists (select 1 from conversations o \
                where o.tenant_id = e.tenant_id and o.id = e.conversation_id and o.deleted_at is null \
                    and o.user_id is not ?11) \
            or e.conversation_id in (select o.id from conversations o \
                where o.tenant_id = ?1 and o.user_id = ?11 and o.deleted_at is null))"
    };
}

/// The condition that user 11 has lost a conversation by event `e`, which is a deletion to that user.
macro_rules! lost {
    () => {
        concat!(
            "(?11 is not null and e.type = 'conversation.updated' \
                and e.data -> 'moved' ->> 'from' = ?11 and not ",
            own!(),
            ")"
        )
    };
}

/// The condition on events `e`: after a position, within the scan length, and passing the filters.
macro_rules! filtered {
    () => {
        concat!(
            "where e.tenant_id = ?1 and e.seq > ?2 and e.seq <= ?2 + ?4 \
            and (?5 is null or case when ",
            lost!(),
            " then 'conversation.deleted' else e.type end in (select value from json_each(?5))) \
            and (?6 is null or e.agent_id = ?6) \
            and (?7 is null or e.conversation_id = ?7) \
            and (?12 is null or e.agent_id in (select unhex(value) from json_each(?12))) \
            and (e.type <> 'message.rated' or ?14 or e.data ->> 'principal' is null) \
            and case when e.type in ('user.updated', 'user.erased') then ?13 \
                when e.conversation_id is null \
                then ?8 and (e.agent_id is not null or ?9 and ?11 is null) \
                when ",
            lost!(),
            " then ?9 \
                else (?9 or exists (select 1 from turns r where r.tenant_id = e.tenant_id \
                        and r.id = e.turn_id and r.principal = ?10)) \
                    and (?11 is null or ",
            own!(),
            ") end"
        )
    };
}

impl EventSql for SqliteStore {
    /// Scans at most as many events as one page may, instead of the whole log for one match. Events
    /// without a conversation belong to agents or users. Without the tenant's row there is no log. Only the size
    /// of the content is read. Input and reply of a turn count twice, since an event contains them in
    /// the turn and as the message.
    const PAGE: &'static str = concat!(
        "select t.first_seq, t.head_seq, e.seq, e.type, e.time, e.agent_id, e.conversation_id, \
            case when o.id is null then e.user_id else o.user_id end as user_id, \
            e.turn_id, e.actor, e.data, \
            exists (select 1 from agents a where a.tenant_id = t.id and a.id = e.agent_id \
                and a.deleted_at is null) as agent_exists, \
            o.id is not null as conversation_exists, \
            (select r.principal from turns r where r.tenant_id = t.id and r.id = e.turn_id) as started_by, \
            coalesce( \
                (select octet_length(s.agent) from agent_snapshots s \
                    where s.tenant_id = t.id and s.seq = e.seq), \
                (select 2 * (octet_length(json_quote(r.input)) + coalesce((select octet_length(json_quote(m.content)) \
                        from messages m where m.tenant_id = r.tenant_id \
                            and m.conversation_id = r.conversation_id and m.seq = r.reply_seq), 0)) \
                        + coalesce(octet_length(r.tool_calls), 0) \
                        + coalesce(octet_length(r.metadata), 0) \
                    from turns r where r.tenant_id = t.id and r.id = e.turn_id), \
                (select octet_length(c.metadata) + coalesce(octet_length(c.context), 0) \
                        + coalesce((select octet_length(json_quote(m.content)) \
                        from messages m where m.tenant_id = c.tenant_id \
                            and m.conversation_id = c.id and m.seq = 1), 0) \
                    from conversations c where c.tenant_id = t.id and c.id = e.conversation_id \
                        and e.type in ('conversation.created', 'conversation.updated')), \
                (select octet_length(json_quote(m.content)) from messages m \
                    where m.tenant_id = t.id and m.conversation_id = e.conversation_id \
                        and m.seq = e.data ->> 'seq' \
                        and e.type in ('message.created', 'message.updated')), \
                (select octet_length(json_quote(f.comment)) from feedback f \
                    where f.tenant_id = t.id and f.conversation_id = e.conversation_id \
                        and f.message_seq = e.data ->> 'seq' \
                        and f.principal = coalesce(e.data ->> 'principal', '') \
                        and e.type = 'message.rated'), \
                0) as bytes \
        from tenants t left join ( select * from events e ",
        filtered!(),
        " order by e.seq limit ?3) e \
            on ?2 + 1 >= t.first_seq and ?2 <= t.head_seq \
        left join conversations o on o.tenant_id = t.id and o.id = e.conversation_id \
            and o.deleted_at is null \
        where t.id = ?1 order by e.seq"
    );

    /// Counts at most as many events as the limit allows.
    const COUNT: &'static str = concat!(
        "select count(*) from (select 1 from events e ",
        filtered!(),
        " limit ?3) e"
    );

    const TURNS: &'static str = concat!(
        "select ",
        turn_columns!("null"),
        ", ",
        reply_columns!(),
        " from json_each(?2) q cross join turns r on r.tenant_id = ?1 and r.id = unhex(q.value)",
        join_reply!()
    );

    const CONVERSATIONS: &'static str = concat!(
        "select ",
        conversation_columns!(open_turns!()),
        " from json_each(?2) q cross join conversations c \
         on c.tenant_id = ?1 and c.id = unhex(q.value) where ",
        visible!()
    );

    const MESSAGES: &'static str = concat!(
        "select ",
        message_columns!(),
        " from json_each(?2) q cross join json_each(?3) s on s.key = q.key cross join messages m \
         on m.tenant_id = ?1 and m.conversation_id = unhex(q.value) and m.seq = s.value"
    );

    const FEEDBACK: &'static str = concat!(
        "select ",
        feedback_columns!(),
        " from json_each(?2) q cross join json_each(?3) s on s.key = q.key \
         cross join json_each(?4) r on r.key = q.key \
         cross join feedback f on f.tenant_id = ?1 and f.conversation_id = unhex(q.value) \
            and f.message_seq = s.value and f.principal = r.value \
         cross join conversations c on c.tenant_id = ?1 and c.id = f.conversation_id"
    );

    const SNAPSHOTS: &'static str = "\
        select s.seq, s.agent from json_each(?2) q cross join agent_snapshots s \
        on s.tenant_id = ?1 and s.seq = q.value";
}
