//! Listings of the turns of a tenant, by conditions that no index answers.

use relational::{
    page_budget, reply_columns, repositories::TurnScanSql, turn_columns, turn_status,
};

use crate::{
    SqliteStore,
    fragments::{join_reply, turn_bytes, visible},
};

/// A page of the turns of a scan, joined to the tenant's head. `$among` is a condition that an index of the order
/// answers. `case` stops at the first condition that does not hold.
macro_rules! scan {
    ($among:literal, $key:literal, $none:literal, $waiting:literal) => {
        concat!(
            "with scan as materialized (select coalesce((select r.",
            $key,
            " from turns r",
            $among,
            " and r.",
            $key,
            " < ?2 order by r.",
            $key,
            " desc limit 1 offset 9999), ",
            $none,
            ") as until) select t.head_seq, p.total, p.is_match, p.is_last, ",
            turn_columns!(),
            ", ",
            reply_columns!(),
            " from tenants t left join ",
            page_budget!(
                concat!(
                    "select * from (select r.rowid as turn, r.sort_seq, r.id, ",
                    turn_bytes!(),
                    " as bytes, r.",
                    $key,
                    " = (select until from scan) as is_last, case when (?4 is null or r.agent_id in (select unhex(value) from json_each(?4))) \
                     and (?6 is null or r.created_at >= ?6) \
                     and (?7 is null or r.created_at < ?7) \
                     and (?8 is null or case ?8 when 'open' then r.status in ('queued', 'in_progress') \
                        when 'waiting' then r.action_expires_at is not null else ",
                    turn_status!("r"),
                    " = ?8 end) \
                     and (?9 is null or not exists (select 1 from json_each(?9) q where not exists ( \
                        select 1 from json_each(r.metadata) m where m.key = q.key and m.value = q.value))) \
                     and (?10 is null or exists (select 1 from feedback f \
                        where f.tenant_id = r.tenant_id and f.conversation_id = r.conversation_id \
                        and f.message_seq = r.reply_seq and f.rating = ?10 and (?11 or f.principal = '')))",
                    $waiting,
                    " and exists (select 1 from conversations c \
                        where c.tenant_id = r.tenant_id and c.id = r.conversation_id \
                        and (?5 is null or c.user_id = ?5) and ",
                    visible!(),
                    ") then 1 else 0 end as is_match from turns r",
                    $among,
                    " and r.",
                    $key,
                    " < ?2 and r.",
                    $key,
                    " >= (select until from scan)) where is_match or is_last order by ",
                    $key,
                    " desc limit ?3"
                ),
                concat!($key, " desc")
            ),
            " p on true left join turns r on r.rowid = p.turn ",
            join_reply!(),
            " where t.id = ?1 order by p.place"
        )
    };
}

impl TurnScanSql for SqliteStore {
    const ALL_TURNS: &'static str = scan!(
        " where r.tenant_id = ?1",
        "id",
        "x'00000000000000000000000000000000'",
        ""
    );
    const WAITING_TURNS: &'static str = scan!(
        " indexed by turns_with_waiting_calls where r.tenant_id = ?1 and r.action_expires_at is not null",
        "sort_seq",
        "0",
        " and exists (select 1 from json_each(r.tool_calls) j where j.value ->> 'needs' is not null \
            and (coalesce(j.value ->> 'approver', 'user') <> 'user') = ?12 \
            and (?11 or coalesce(j.value ->> 'visibility', 'status') in ('full', 'status')))"
    );
}
