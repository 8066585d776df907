//! Rows of `usage_entries`.

use ports::write_store::UsageRow;

use crate::{cte_batch::CteBatch, fragments::unnest};

/// Stored rows are looked up by a subquery for each row, because the planner could read all of them for a
/// join.
const INSERT: &str = concat!(
    "insert into usage_entries (tenant_id, turn_id, number, kind, agent_id, agent_version, \
        conversation_id, user_id, principal, engine, model, input_tokens, cached_input_tokens, \
        output_tokens, reasoning_tokens, at) \
    select n.tenant, n.turn, n.number, n.kind, n.agent, n.agent_version, n.conversation, n.owner, \
        n.principal, n.engine, n.model, n.input, n.cached_input, n.output, n.reasoning, n.at \
    from ",
    unnest!(
        1 text, 2 uuid, 3 bigint, 4 uuid, 5 bigint, 6 uuid, 7 text, 8 text, 9 text, 10 text,
        11 bigint, 12 bigint, 13 bigint, 14 bigint, 15 timestamptz, 16 text
    ),
    " as n (tenant, turn, number, agent, agent_version, conversation, owner, principal, engine, \
        model, input, cached_input, output, reasoning, at, kind) \
    where (select u.number from usage_entries u \
        where u.tenant_id = n.tenant and u.turn_id = n.turn and u.kind = n.kind \
            and u.number = n.number) is null"
);

/// The statements of this file.
pub(crate) const STATEMENTS: &[&str] = &[INSERT];

/// Inserts requests to models, unless they are stored.
pub(super) fn insert(batch: &mut CteBatch, rows: &[UsageRow]) {
    batch.add(INSERT, rows, |insert, rows| {
        let usage = |row: &UsageRow| row.request.usage;
        insert
            .column(rows, |row| row.tenant.as_str())
            .column(rows, |row| row.turn_id.uuid())
            .column(rows, |row| row.request.number)
            .column(rows, |row| row.agent_id.uuid())
            .column(rows, |row| row.agent_version)
            .column(rows, |row| row.conversation_id.uuid())
            .column(rows, |row| row.user_id.as_deref())
            .column(rows, |row| row.principal.as_str())
            .column(rows, |row| row.request.engine.as_str())
            .column(rows, |row| row.request.model.as_deref())
            .column(rows, |row| usage(row).map(|usage| usage.input_tokens))
            .column(rows, |row| usage(row)?.cached_input_tokens)
            .column(rows, |row| usage(row).map(|usage| usage.output_tokens))
            .column(rows, |row| usage(row)?.reasoning_tokens)
            .column(rows, |row| row.at.date_time())
            .column(rows, |row| row.kind.as_str())
    });
}
