//! Messages: the pages of a conversation, and the history for an engine.

use relational::{message_columns, message_turn_columns, page_budget, repositories::MessageSql};

use crate::{SqliteStore, fragments::visible};

/// A page of messages joined to the tenant's head and to their conversation, if it exists.
macro_rules! page {
    ($after:literal, $order:literal) => {
        concat!(
            "select t.head_seq, c.id is not null as is_found, p.total, ",
            message_columns!(),
            ", ",
            message_turn_columns!(),
            " from tenants t left join conversations c \
             on c.tenant_id = t.id and c.id = ?2 and ",
            visible!(),
            " left join ",
            page_budget!(
                concat!(
                    "select seq, octet_length(json_quote(content)) + case role \
                     when 'agent' then coalesce((select octet_length(r.tool_calls) from turns r \
                        where r.tenant_id = messages.tenant_id and r.id = messages.turn_id), 0) \
                     else 0 end as bytes from messages \
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
             (select p.seq from messages p where p.tenant_id = ?1 \
                and p.conversation_id = ?2 and p.seq < m.seq and p.superseded_at is null \
                order by p.seq desc limit 1) as previous \
             from (select c.message_count - c.superseded_count as visible, ",
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

impl MessageSql for SqliteStore {
    const PAGE_ASCENDING: &'static str = page!("seq > ?3", "seq");
    const PAGE_DESCENDING: &'static str = page!("seq < ?3", "seq desc");

    /// The sum runs over whole messages, newest first, so that the first message over the limit hides
    /// all earlier ones.
    const HISTORY: &'static str = concat!(
        "select m.seq, m.role, m.content \
         from (select m.*, sum(length(m.content)) over (order by m.seq desc) as characters \
         from (select m.seq, m.role, m.content from conversations c join messages m \
         on m.tenant_id = c.tenant_id and m.conversation_id = c.id \
         left join turns t on t.tenant_id = m.tenant_id and t.id = m.turn_id \
         where c.tenant_id = ?1 and c.id = ?2 and ",
        visible!(),
        " and m.seq < ?3 and m.superseded_at is null and coalesce(t.status <> 'failed', true) \
         order by m.seq desc limit ?4) m) m \
         where m.characters <= ?5 order by m.seq"
    );

    const FIND: &'static str = find!("m.id = ?3");

    /// An edited message has the id of the one that it replaces; the newest is found.
    const FIND_BY_CLIENT_ID: &'static str = find!(
        "m.seq = (select max(t.message_seq) from turns t where t.tenant_id = ?1 \
            and t.conversation_id = ?2 and t.client_message_id = ?3)"
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
