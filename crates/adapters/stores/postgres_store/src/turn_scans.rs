//! Listings of the turns of a tenant, by conditions that no index answers.

use relational::{
    page_budget, reply_columns, repositories::TurnScanSql, turn_columns, turn_status,
};

use crate::{
    PostgresStore,
    fragments::{join_reply, turn_bytes, visible},
};

/// A page of the turns of a scan, joined to the tenant's head. `$among` is a condition that an index of the order
/// answers. `offset 0` makes the planner look up ratings one by one, as in `join_reply`.
macro_rules! scan {
    ($among:literal, $key:literal, $none:literal, $waiting:literal) => {
        concat!(
            "with scan as materialized (select coalesce((select r.",
            $key,
            " from turns r where r.tenant_id = $1",
            $among,
            " and r.",
            $key,
            " < $2 order by r.",
            $key,
            " desc limit 1 offset 9999), ",
            $none,
            ") as until) select t.head_seq, r.total, r.is_match, r.is_last, ",
            turn_columns!(),
            ", ",
            reply_columns!(),
            " from tenants t left join ",
            page_budget!(
                concat!(
                    "select * from (select r.*, ",
                    turn_bytes!(),
                    " as bytes, r.",
                    $key,
                    " = (select until from scan) as is_last, coalesce( \
                     ($4::uuid[] is null or r.agent_id = any($4)) \
                     and ($6::timestamptz is null or r.created_at >= $6) \
                     and ($7::timestamptz is null or r.created_at < $7) \
                     and ($8::text is null or case $8 when 'open' then r.status in ('queued', 'in_progress') \
                        when 'waiting' then num_nonnulls(r.action_expires_at) = 1 else ",
                    turn_status!("r"),
                    " = $8 end) \
                     and ($9::jsonb is null or r.metadata @> $9) \
                     and ($10::text is null or exists (select 1 from feedback f \
                        where f.tenant_id = r.tenant_id and f.conversation_id = r.conversation_id \
                        and f.message_seq = r.reply_seq and f.rating = $10 \
                        and ($11 or f.principal = '') offset 0))",
                    $waiting,
                    " and (select ($5::text is null or c.user_id = $5) and ",
                    visible!(),
                    " from conversations c where c.tenant_id = r.tenant_id and c.id = r.conversation_id), \
                     false) as is_match from turns r where r.tenant_id = $1",
                    $among,
                    " and r.",
                    $key,
                    " < $2 and r.",
                    $key,
                    " >= (select until from scan)) r where r.is_match or r.is_last order by r.",
                    $key,
                    " desc limit $3"
                ),
                concat!($key, " desc")
            ),
            " r on true ",
            join_reply!(),
            " where t.id = $1 order by r.place"
        )
    };
}

impl TurnScanSql for PostgresStore {
    const ALL_TURNS: &'static str =
        scan!("", "id", "'00000000-0000-0000-0000-000000000000'::uuid", "");
    const WAITING_TURNS: &'static str = scan!(
        " and num_nonnulls(r.action_expires_at) = 1",
        "sort_seq",
        "0",
        " and exists (select 1 from jsonb_array_elements(r.tool_calls) j where j ->> 'needs' is not null \
            and (coalesce(j ->> 'approver', 'user') <> 'user') = $12 \
            and ($11 or coalesce(j ->> 'visibility', 'status') in ('full', 'status')))"
    );
}
