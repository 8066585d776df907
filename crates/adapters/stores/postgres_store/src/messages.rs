//! Messages: the pages of a conversation, and the history for an engine.

use relational::{message_columns, message_turn_columns, page_budget, repositories::MessageSql};

use crate::{PostgresStore, fragments::visible};

/// The ratings of message `m` in conversation `c`, which are looked up only if the conversation has any.
macro_rules! ratings {
    () => {
        "case when c.has_feedback then (select json_agg(json_build_object( \
            'principal', f.principal, 'rating', f.rating, 'comment', f.comment, \
            'at', (extract(epoch from f.updated_at) * 1000)::bigint) order by f.principal) \
            from feedback f where f.tenant_id = m.tenant_id \
            and f.conversation_id = m.conversation_id and f.message_seq = m.seq) end as feedback"
    };
}

/// A page of messages joined to the tenant's head and to their conversation, if it exists.
macro_rules! page {
    ($after:literal, $order:literal) => {
        concat!(
            "select t.head_seq, c.id is not null as is_found, m.total, ",
            message_columns!(),
            ", ",
            message_turn_columns!(),
            ", c.user_id as owner, ",
            ratings!(),
            " from tenants t left join conversations c \
             on c.tenant_id = t.id and c.id = $2 and ",
            visible!(),
            " left join lateral ",
            page_budget!(
                concat!(
                    "select m.*, octet_length(to_json(m.content)::text) + case m.role \
                     when 'agent' then coalesce((select octet_length(r.tool_calls::text) from turns r \
                        where r.tenant_id = m.tenant_id and r.id = m.turn_id), 0) else 0 end \
                     + case when c.has_feedback then coalesce((select \
                        sum(octet_length(coalesce(to_json(f.comment)::text, '')) + 200) \
                        from feedback f where f.tenant_id = m.tenant_id \
                        and f.conversation_id = m.conversation_id and f.message_seq = m.seq), 0)::integer \
                     else 0 end as bytes \
                     from messages m where m.tenant_id = c.tenant_id and m.conversation_id = c.id \
                     and ($5 or num_nonnulls(m.superseded_at) = 0) and m.",
                    $after,
                    " order by m.",
                    $order,
                    " limit $4"
                ),
                $order
            ),
            " m on true left join lateral (select * from turns r where r.tenant_id = m.tenant_id \
             and r.id = m.turn_id offset 0) r on true where t.id = $1 order by m.place"
        )
    };
}

/// A message at a position. Clients refer to recent messages, so `before`, the number of messages
/// before it that are not superseded, is computed from those after it.
macro_rules! find {
    ($position:literal) => {
        concat!(
            "select m.*, m.visible - (select count(*) from messages p where p.tenant_id = $1 \
                and p.conversation_id = $2 and p.seq >= m.seq and num_nonnulls(p.superseded_at) = 0) \
                as before, \
             m.staff_messages - (select count(*) from messages p where p.tenant_id = $1 \
                and p.conversation_id = $2 and p.seq >= m.seq and num_nonnulls(p.author) = 1) \
                as of_staff, \
             (select p.seq from messages p where p.tenant_id = $1 \
                and p.conversation_id = $2 and p.seq < m.seq and num_nonnulls(p.superseded_at) = 0 \
                order by p.seq desc limit 1) as previous \
             from (select c.message_count - c.superseded_count as visible, c.message_count as last_seq, \
                c.superseded_count, c.staff_messages, ",
            message_columns!(),
            ", ",
            message_turn_columns!(),
            " from conversations c join messages m \
             on m.tenant_id = c.tenant_id and m.conversation_id = c.id \
             left join lateral (select * from turns r where r.tenant_id = m.tenant_id \
                and r.id = m.turn_id offset 0) r on true \
             where c.tenant_id = $1 and c.id = $2 and m.tenant_id = $1 and m.conversation_id = $2 and ",
            visible!(),
            " and ",
            $position,
            " order by m.seq desc limit 1) m"
        )
    };
}

/// The condition that message `m` of turn `t`, if it has one, is part of a history.
macro_rules! is_remembered {
    () => {
        "num_nonnulls(m.superseded_at) = 0 \
         and (num_nonnulls(t.id) = 0 or t.status <> 'failed' or coalesce(t.has_acted, false))"
    };
}

/// The join of the turn `t` to a message `m`.
macro_rules! join_turn {
    () => {
        " left join lateral (select * from turns t where t.tenant_id = m.tenant_id \
         and t.id = m.turn_id offset 0) t on true "
    };
}

/// The columns of a turn `t` with calls.
macro_rules! acting_columns {
    () => {
        "t.id, t.conversation_id, t.message_seq, t.sort_seq, t.status, t.input, t.agent_version"
    };
}

impl MessageSql for PostgresStore {
    const PAGE_ASCENDING: &'static str = page!("seq > $3", "seq");
    const PAGE_DESCENDING: &'static str = page!("seq < $3", "seq desc");

    /// The sum runs over whole messages, newest first, so that the first message over the limit hides
    /// all earlier ones.
    const HISTORY: &'static str = concat!(
        "select m.*, h.is_fork, h.has_calls or coalesce(m.is_of_turn_with_calls, false) as has_calls \
         from (select exists (select 1 from turns t where t.tenant_id = $1 \
            and t.conversation_id = $2 and t.has_acted is not null) as has_calls, \
            exists (select 1 from conversations c where c.tenant_id = $1 and c.id = $2 \
                and c.forked_from is not null) as is_fork) h \
         left join (select m.*, sum(char_length(m.content)) over (order by m.seq desc) as characters \
         from (select m.seq, m.role, m.content, m.author ->> 'name' as author, m.files, t.id as turn_id, \
            t.conversation_id as turn_conversation_id, t.message_seq, t.reply_seq, t.sort_seq, \
            t.conversation_id <> $2 and exists (select 1 from turns o where o.tenant_id = $1 \
                and o.conversation_id = t.conversation_id and o.has_acted is not null) \
                as is_of_turn_with_calls \
         from messages m",
        join_turn!(),
        "where m.tenant_id = $1 and m.conversation_id = $2 and m.seq < $3 and ",
        is_remembered!(),
        " and exists (select 1 from conversations c where c.tenant_id = $1 and c.id = $2 and ",
        visible!(),
        ") order by m.seq desc limit $4) m) m \
         on m.characters <= $5 order by m.seq"
    );

    const PAST_TURNS: &'static str = concat!(
        "with recursive repeated(seq) as (select $5::bigint \
            union select o.message_seq from repeated \
            cross join lateral (select * from turns r \
                where r.tenant_id = $1 and r.conversation_id = $2 and r.message_seq = repeated.seq and r.retry_of is not null offset 0) r \
            cross join lateral (select * from turns o \
                where o.tenant_id = $1 and o.id = r.retry_of offset 0) o \
            where o.conversation_id = $2 and o.message_seq is not null), \
         origins(id) as (select (c.forked_from ->> 'conversationId')::uuid from conversations c \
            where c.tenant_id = $1 and c.id = $2 and $3 > 0 and c.forked_from is not null \
            union select (c.forked_from ->> 'conversationId')::uuid from origins \
            cross join lateral (select * from conversations c \
                where c.tenant_id = $1 and c.id = origins.id offset 0) c \
            where c.forked_from is not null), \
         copies as materialized (select n.id, n.seq from messages n \
            where n.tenant_id = $1 and n.conversation_id = $2 and n.role = 'user' \
                and exists (select 1 from origins)), \
         acting as (select ",
        acting_columns!(),
        ", t.message_seq as place from turns t \
            where t.tenant_id = $1 and t.conversation_id = $2 and t.has_acted is not null \
            union all select ",
        acting_columns!(),
        ", copies.seq as place from origins \
            cross join lateral (select * from turns t \
                where t.tenant_id = $1 and t.conversation_id = origins.id and t.has_acted is not null offset 0) t \
            cross join lateral (select * from copies \
                where copies.id = t.message_id offset 0) copies \
            where t.sort_seq < (select min(f.sort_seq) from turns f \
                where f.tenant_id = $1 and f.conversation_id = $2)) \
         select r.id, r.conversation_id, r.message_seq as answered_seq, r.place as message_seq, \
            r.status, r.input, r.is_retried, \
            coalesce(r.input = (select n.content from messages n where n.tenant_id = $1 \
                and n.conversation_id = $2 and n.seq = $5), false) as is_repeated, \
            coalesce(r.agent_version = (select o.agent_version from messages n \
                cross join lateral (select * from turns o where o.tenant_id = n.tenant_id \
                    and o.id = n.turn_id offset 0) o \
                where n.tenant_id = $1 and n.conversation_id = $2 and n.seq = $5), false) \
                as has_same_agent, \
            (select '[' || string_agg(s.body, ',' order by s.number) || ']' from turn_steps s \
                where s.tenant_id = $1 and s.turn_id = r.id) as journal \
         from (select r.*, sum(r.bytes) over \
            (order by r.is_retried desc, r.place desc, r.sort_seq desc) as total \
         from (select r.*, $3 > 0 and r.place in (select seq from repeated) as is_retried, \
            (select sum(octet_length(s.body)) from turn_steps s \
                where s.tenant_id = $1 and s.turn_id = r.id) as bytes \
         from acting r where r.status in ('completed', 'failed', 'cancelled') \
            and (r.place > greatest($4, coalesce((select m.seq from messages m",
        join_turn!(),
        "where m.tenant_id = $1 \
                    and m.conversation_id = $2 and m.seq < $3 and ",
        is_remembered!(),
        " order by m.seq desc limit 1), 0)) \
                or $3 > 0 and r.place in (select seq from repeated)) \
            and (r.place <= $5 or $3 > 0 and exists (select 1 from messages n \
                where n.tenant_id = $1 and n.conversation_id = $2 and n.seq = r.place \
                and num_nonnulls(n.superseded_at) > 0)) \
            and r.sort_seq <= $6 \
         order by is_retried desc, r.place desc, r.sort_seq desc limit 600) r) r \
         where r.total <= case when r.is_retried then 16777216::bigint else $7 end \
         order by r.place, r.sort_seq"
    );

    const FIND: &'static str = find!("m.id = $3");

    /// An edited message has the id of the one that it replaces; the newest is found. Imported messages have
    /// no turn.
    const FIND_BY_CLIENT_ID: &'static str = find!(
        "m.seq = coalesce((select max(t.message_seq) from turns t where t.tenant_id = $1 \
            and t.conversation_id = $2 and t.client_message_id = $3), \
            (select max(i.seq) from messages i where i.tenant_id = $1 and i.conversation_id = $2 \
                and i.client_message_id = $3 and i.role = 'user'))"
    );

    const AT: &'static str = concat!(
        "select ",
        message_columns!(),
        ", ",
        message_turn_columns!(),
        " from messages m left join lateral (select * from turns r where r.tenant_id = m.tenant_id \
            and r.id = m.turn_id offset 0) r on true \
         where m.tenant_id = $1 and m.conversation_id = $2 and m.seq = $3"
    );
}
