//! Messages: the pages of a conversation, and the history for an engine.

use relational::{message_columns, message_turn_columns, page_budget, repositories::MessageSql};

use crate::{SqliteStore, fragments::visible};

/// The ratings of message `m` in conversation `c`, which are looked up only if the conversation has any.
macro_rules! ratings {
    () => {
        "case when c.has_feedback then (select json_group_array(json_object( \
            'principal', f.principal, 'rating', f.rating, 'comment', f.comment, 'at', f.updated_at) \
            order by f.principal) from feedback f where f.tenant_id = m.tenant_id \
            and f.conversation_id = m.conversation_id and f.message_seq = m.seq) end as feedback"
    };
}

/// A page of messages joined to the tenant's head and to their conversation, if it exists.
macro_rules! page {
    ($after:literal, $order:literal) => {
        concat!(
            "select t.head_seq, c.id is not null as is_found, p.total, ",
            message_columns!(),
            ", ",
            message_turn_columns!(),
            ", c.user_id as owner, ",
            ratings!(),
            " from tenants t left join conversations c \
             on c.tenant_id = t.id and c.id = ?2 and ",
            visible!(),
            " left join ",
            page_budget!(
                concat!(
                    "select seq, octet_length(json_quote(content)) + case role \
                     when 'agent' then coalesce((select octet_length(r.tool_calls) from turns r \
                        where r.tenant_id = messages.tenant_id and r.id = messages.turn_id), 0) \
                     else 0 end + case when (select has_feedback from conversations \
                        where tenant_id = ?1 and id = ?2) \
                     then coalesce((select sum(octet_length(json_quote(f.comment)) + 200) from feedback f \
                        where f.tenant_id = messages.tenant_id \
                        and f.conversation_id = messages.conversation_id \
                        and f.message_seq = messages.seq), 0) else 0 end as bytes from messages \
                     where tenant_id = ?1 and conversation_id = ?2 \
                     and (?5 or superseded_at is null) and ",
                    $after,
                    " order by ",
                    $order,
                    " limit ?4"
                ),
                $order
            ),
            " p on c.id is not null left join messages m \
             on m.tenant_id = c.tenant_id and m.conversation_id = c.id and m.seq = p.seq \
             left join turns r on r.tenant_id = m.tenant_id and r.id = m.turn_id \
             where t.id = ?1 order by p.place"
        )
    };
}

/// A message at a position. Clients refer to recent messages, so `before`, the number of messages
/// before it that are not superseded, is computed from those after it.
macro_rules! find {
    ($position:literal) => {
        concat!(
            "select m.*, m.visible - (select count(*) from messages p where p.tenant_id = ?1 \
                and p.conversation_id = ?2 and p.seq >= m.seq and p.superseded_at is null) \
                as before, \
             m.staff_messages - (select count(*) from messages p where p.tenant_id = ?1 \
                and p.conversation_id = ?2 and p.seq >= m.seq and p.author is not null) as of_staff, \
             (select p.seq from messages p where p.tenant_id = ?1 \
                and p.conversation_id = ?2 and p.seq < m.seq and p.superseded_at is null \
                order by p.seq desc limit 1) as previous \
             from (select c.message_count - c.superseded_count as visible, c.message_count as last_seq, \
                c.superseded_count, c.staff_messages, ",
            message_columns!(),
            ", ",
            message_turn_columns!(),
            " from conversations c join messages m \
             on m.tenant_id = c.tenant_id and m.conversation_id = c.id \
             left join turns r on r.tenant_id = m.tenant_id and r.id = m.turn_id \
             where c.tenant_id = ?1 and c.id = ?2 and m.tenant_id = ?1 and m.conversation_id = ?2 and ",
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
        "m.superseded_at is null and (t.id is null or t.status <> 'failed' or coalesce(t.has_acted, 0))"
    };
}

/// The columns of a turn `t` with calls.
macro_rules! acting_columns {
    () => {
        "t.id, t.conversation_id, t.message_seq, t.sort_seq, t.status, t.input, t.agent_version"
    };
}

impl MessageSql for SqliteStore {
    const PAGE_ASCENDING: &'static str = page!("seq > ?3", "seq");
    const PAGE_DESCENDING: &'static str = page!("seq < ?3", "seq desc");

    /// The sum runs over whole messages, newest first, so that the first message over the limit hides
    /// all earlier ones.
    const HISTORY: &'static str = concat!(
        "select m.*, h.is_fork, h.has_calls or coalesce(m.is_of_turn_with_calls, 0) as has_calls \
         from (select exists (select 1 from turns t where t.tenant_id = ?1 \
            and t.conversation_id = ?2 and t.has_acted is not null) as has_calls, \
            exists (select 1 from conversations c where c.tenant_id = ?1 and c.id = ?2 \
                and c.forked_from is not null) as is_fork) h \
         left join (select m.*, sum(length(m.content)) over (order by m.seq desc) as characters \
         from (select m.seq, m.role, m.content, m.author ->> 'name' as author, m.files, t.id as turn_id, \
            t.conversation_id as turn_conversation_id, t.message_seq, t.reply_seq, t.sort_seq, \
            t.conversation_id <> ?2 and exists (select 1 from turns o where o.tenant_id = ?1 \
                and o.conversation_id = t.conversation_id and o.has_acted is not null) \
                as is_of_turn_with_calls \
         from conversations c join messages m \
         on m.tenant_id = c.tenant_id and m.conversation_id = c.id \
         left join turns t on t.tenant_id = m.tenant_id and t.id = m.turn_id \
         where c.tenant_id = ?1 and c.id = ?2 and ",
        visible!(),
        " and m.seq < ?3 and ",
        is_remembered!(),
        " order by m.seq desc limit ?4) m) m \
         on m.characters <= ?5 order by m.seq"
    );

    const PAST_TURNS: &'static str = concat!(
        "with recursive repeated(seq) as (select ?5 \
            union select o.message_seq from repeated \
            cross join turns r \
                on r.tenant_id = ?1 and r.conversation_id = ?2 and r.message_seq = repeated.seq and r.retry_of is not null \
            cross join turns o \
                on o.tenant_id = ?1 and o.id = r.retry_of \
            where o.conversation_id = ?2 and o.message_seq is not null), \
         origins(id) as (select unhex(replace(c.forked_from ->> 'conversationId', '-', '')) from conversations c \
            where c.tenant_id = ?1 and c.id = ?2 and ?3 > 0 and c.forked_from is not null \
            union select unhex(replace(c.forked_from ->> 'conversationId', '-', '')) from origins \
            cross join conversations c \
                on c.tenant_id = ?1 and c.id = origins.id \
            where c.forked_from is not null), \
         copies as materialized (select n.id, n.seq from messages n \
            where n.tenant_id = ?1 and n.conversation_id = ?2 and n.role = 'user' \
                and exists (select 1 from origins)), \
         acting as (select ",
        acting_columns!(),
        ", t.message_seq as place from turns t \
            where t.tenant_id = ?1 and t.conversation_id = ?2 and t.has_acted is not null \
            union all select ",
        acting_columns!(),
        ", copies.seq as place from origins \
            cross join turns t \
                on t.tenant_id = ?1 and t.conversation_id = origins.id and t.has_acted is not null \
            cross join copies \
                on copies.id = t.message_id \
            where +t.sort_seq < (select min(f.sort_seq) from turns f \
                where f.tenant_id = ?1 and f.conversation_id = ?2)) \
         select r.id, r.conversation_id, r.message_seq as answered_seq, r.place as message_seq, \
            r.status, r.input, r.is_retried, \
            coalesce(r.input = (select n.content from messages n where n.tenant_id = ?1 \
                and n.conversation_id = ?2 and n.seq = ?5), 0) as is_repeated, \
            coalesce(r.agent_version = (select o.agent_version from messages n \
                join turns o on o.tenant_id = n.tenant_id and o.id = n.turn_id \
                where n.tenant_id = ?1 and n.conversation_id = ?2 and n.seq = ?5), 0) \
                as has_same_agent, \
            (select '[' || group_concat(s.body, ',' order by s.number) || ']' from turn_steps s \
                where s.tenant_id = ?1 and s.turn_id = r.id) as journal \
         from (select r.*, sum(r.bytes) over \
            (order by r.is_retried desc, r.place desc, r.sort_seq desc) as total \
         from (select r.*, ?3 > 0 and r.place in (select seq from repeated) as is_retried, \
            (select sum(octet_length(s.body)) from turn_steps s \
                where s.tenant_id = ?1 and s.turn_id = r.id) as bytes \
         from acting r where r.status in ('completed', 'failed', 'cancelled') \
            and (r.place > max(?4, coalesce((select m.seq from messages m \
                left join turns t on t.tenant_id = m.tenant_id and t.id = m.turn_id \
                where m.tenant_id = ?1 \
                    and m.conversation_id = ?2 and m.seq < ?3 and ",
        is_remembered!(),
        " order by m.seq desc limit 1), 0)) \
                or ?3 > 0 and r.place in (select seq from repeated)) \
            and (r.place <= ?5 or ?3 > 0 and exists (select 1 from messages n \
                where n.tenant_id = ?1 and n.conversation_id = ?2 and n.seq = r.place \
                and n.superseded_at is not null)) \
            and +r.sort_seq <= ?6 \
         order by is_retried desc, r.place desc, r.sort_seq desc limit 600) r) r \
         where r.total <= case when r.is_retried then 16777216 else ?7 end \
         order by r.place, r.sort_seq"
    );

    const FIND: &'static str = find!("m.id = ?3");

    /// An edited message has the id of the one that it replaces; the newest is found. Imported messages have
    /// no turn.
    const FIND_BY_CLIENT_ID: &'static str = find!(
        "m.seq = coalesce((select max(t.message_seq) from turns t where t.tenant_id = ?1 \
            and t.conversation_id = ?2 and t.client_message_id = ?3), \
            (select max(i.seq) from messages i where i.tenant_id = ?1 and i.conversation_id = ?2 \
                and i.client_message_id = ?3 and i.role = 'user'))"
    );

    const AT: &'static str = concat!(
        "select ",
        message_columns!(),
        ", ",
        message_turn_columns!(),
        " from messages m left join turns r on r.tenant_id = m.tenant_id and r.id = m.turn_id \
         where m.tenant_id = ?1 and m.conversation_id = ?2 and m.seq = ?3"
    );
}
