//! Listings of conversations by conditions that no index answers.

use relational::{conversation_columns, page_budget, repositories::ConversationScanSql};

use crate::{
    PostgresStore,
    fragments::{open_turns, visible},
};

/// A page of the conversations of a scan, joined to the tenant's head. `$among` are conditions that an index of
/// the order answers.
macro_rules! scan {
    ($among:literal, $key:literal, $none:literal, $after:literal, $within:literal, $inner:literal, $order:literal) => {
        concat!(
            "with scan as materialized (select coalesce((select c.",
            $key,
            " from conversations c where c.tenant_id = $1 and c.deleted_at is null",
            $among,
            " and ",
            $after,
            " order by ",
            $inner,
            " limit 1 offset 9999), ",
            $none,
            ") as until) select t.head_seq, c.total, c.is_match, c.is_last, ",
            conversation_columns!(open_turns!()),
            " from tenants t left join ",
            page_budget!(
                concat!(
                    "select * from (select c.*, octet_length(c.metadata::text) \
                     + coalesce(octet_length(c.context), 0) + coalesce(octet_length(c.title), 0) as bytes, \
                     c.",
                    $key,
                    " = (select until from scan) as is_last, coalesce(",
                    visible!(),
                    " and ($3::uuid[] is null or c.agent_id = any($3)) \
                     and ($4::text is null or c.user_id = $4) \
                     and ($5::text is null or c.assignee = $5) \
                     and ($6::text is null or coalesce(c.handled_by, 'agent') = $6) \
                     and ($7::timestamptz is null or c.last_message_at >= $7) \
                     and ($8::timestamptz is null or c.last_message_at < $8) \
                     and ($9::jsonb is null or c.metadata @> $9) \
                     and ($10::text is null or c.has_feedback and exists (select 1 from feedback f \
                        where f.tenant_id = c.tenant_id and f.conversation_id = c.id \
                        and f.rating = $10 and ($11 or f.principal = ''))), false) as is_match \
                     from conversations c where c.tenant_id = $1 and c.deleted_at is null",
                    $among,
                    " and ",
                    $after,
                    " and ",
                    $within,
                    ") c where c.is_match or c.is_last order by ",
                    $inner,
                    " limit $2"
                ),
                $order
            ),
            " c on true where t.id = $1 order by c.place"
        )
    };
}

/// Latest activity first.
macro_rules! by_activity {
    ($among:literal) => {
        scan!(
            $among,
            "sort_seq",
            "0",
            "(c.sort_seq, c.id) < ($13, $12)",
            "c.sort_seq >= (select until from scan)",
            "c.sort_seq desc, c.id desc",
            "sort_seq desc, id desc"
        )
    };
}

/// By id. `$id` is the id as the order names it, and the conditions are those of a page.
macro_rules! by_id {
    ($among:literal, $id:literal, $after:literal, $within:literal) => {
        scan!(
            $among,
            "id",
            "'ffffffff-ffff-ffff-ffff-ffffffffffff'::uuid",
            $after,
            $within,
            $id,
            "id"
        )
    };
}

impl ConversationScanSql for PostgresStore {
    const BY_ACTIVITY: &'static str = by_activity!("");
    const BY_ACTIVITY_OF_USER: &'static str = by_activity!(" and c.user_id = $4");
    const BY_WAITING: &'static str = scan!(
        " and c.waiting_since is not null",
        "waiting_since",
        "'infinity'::timestamptz",
        "(c.waiting_since, c.id) > ($13, $12)",
        "c.waiting_since <= (select until from scan)",
        "c.waiting_since, c.id",
        "waiting_since, id"
    );
    const BY_ID: &'static str =
        by_id!("", "c.id", "c.id > $12", "c.id <= (select until from scan)");
    /// Sorts the conversations of the user. The function, which keeps the order, hides the id from the primary key, whose
    /// order would lead through all conversations of the tenant.
    const BY_ID_OF_USER: &'static str = by_id!(
        " and c.user_id = $4",
        "uuid_send(c.id)",
        "uuid_send(c.id) > uuid_send($12)",
        "uuid_send(c.id) <= (select uuid_send(until) from scan)"
    );
}
