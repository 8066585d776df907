//! Listings of conversations by conditions that no index answers.

use relational::{conversation_columns, page_budget, repositories::ConversationScanSql};

use crate::{
    SqliteStore,
    fragments::{open_turns, visible},
};

/// A page of the conversations of a scan, joined to the tenant's head. `$among` are conditions that an index of
/// the order answers.
macro_rules! scan {
    ($among:literal, $key:literal, $none:literal, $after:expr, $within:expr, $inner:literal, $order:literal) => {
        concat!(
            "with scan as materialized (select coalesce((select c.",
            $key,
            " from conversations c where c.tenant_id = ?1 and c.deleted_at is null",
            $among,
            " and ",
            $after,
            " order by ",
            $inner,
            " limit 1 offset 9999), ",
            $none,
            ") as until) select t.head_seq, p.total, p.is_match, p.is_last, ",
            conversation_columns!(open_turns!()),
            " from tenants t left join ",
            page_budget!(
                concat!(
                    "select * from (select c.rowid as conversation, c.sort_seq, c.waiting_since, c.id, \
                     octet_length(c.metadata) + coalesce(octet_length(c.context), 0) \
                     + coalesce(octet_length(c.title), 0) as bytes, c.",
                    $key,
                    " = (select until from scan) as is_last, coalesce(",
                    visible!(),
                    " and (?3 is null or c.agent_id in (select unhex(value) from json_each(?3))) \
                     and (?4 is null or c.user_id = ?4) \
                     and (?5 is null or c.assignee = ?5) \
                     and (?6 is null or coalesce(c.handled_by, 'agent') = ?6) \
                     and (?7 is null or c.last_message_at >= ?7) \
                     and (?8 is null or c.last_message_at < ?8) \
                     and (?9 is null or not exists (select 1 from json_each(?9) q where not exists ( \
                        select 1 from json_each(c.metadata) m where m.key = q.key and m.value = q.value))) \
                     and (?10 is null or c.has_feedback and exists (select 1 from feedback f \
                        where f.tenant_id = c.tenant_id and f.conversation_id = c.id \
                        and f.rating = ?10 and (?11 or f.principal = ''))), 0) as is_match \
                     from conversations c where c.tenant_id = ?1 and c.deleted_at is null",
                    $among,
                    " and ",
                    $after,
                    " and ",
                    $within,
                    ") where is_match or is_last order by ",
                    $order,
                    " limit ?2"
                ),
                $order
            ),
            " p on true left join conversations c on c.rowid = p.conversation \
             where t.id = ?1 order by p.place"
        )
    };
}

/// Latest activity first. `$seq` is the position as the end of the scan names it.
macro_rules! by_activity {
    ($among:literal, $seq:literal) => {
        scan!(
            $among,
            "sort_seq",
            "0",
            "(c.sort_seq, c.id) < (?13, ?12)",
            concat!($seq, " >= (select until from scan)"),
            "c.sort_seq desc, c.id desc",
            "sort_seq desc, id desc"
        )
    };
}

/// By id. `$id` is the id as conditions name it.
macro_rules! by_id {
    ($among:literal, $id:literal, $order:literal) => {
        scan!(
            $among,
            "id",
            "x'ffffffffffffffffffffffffffffffff'",
            concat!($id, " > ?12"),
            concat!($id, " <= (select until from scan)"),
            $id,
            $order
        )
    };
}

impl ConversationScanSql for SqliteStore {
    const BY_ACTIVITY: &'static str = by_activity!("", "c.sort_seq");
    /// The sign keeps SQLite from an index that leads through all conversations of the tenant. So it does below.
    const BY_ACTIVITY_OF_USER: &'static str = by_activity!(" and c.user_id = ?4", "+c.sort_seq");
    const BY_WAITING: &'static str = scan!(
        " and c.waiting_since is not null",
        "waiting_since",
        "9223372036854775807",
        "(c.waiting_since, c.id) > (?13, ?12)",
        "c.waiting_since <= (select until from scan)",
        "c.waiting_since, c.id",
        "waiting_since, id"
    );
    const BY_ID: &'static str = by_id!("", "c.id", "id");
    /// Sorts the conversations of the user.
    const BY_ID_OF_USER: &'static str = by_id!(" and c.user_id = ?4", "+c.id", "+id");
}
