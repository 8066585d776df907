//! Rows of `agents` and `agent_capabilities`.

use domain::text::search_key;
use relational::AgentRow;
use sqlx::types::Json;

use super::column;
use crate::cte_batch::CteBatch;

const INSERT: &str = "\
    insert into agents (tenant_id, id, name, name_key, personality, capabilities, config, \
        version, created_at, updated_at, sort_seq) \
    select * from unnest($1::text[], $2::uuid[], $3::text[], $4::text[], $5::text[], $6::jsonb[], \
        $7::jsonb[], $8::bigint[], $9::timestamptz[], $10::timestamptz[], $11::bigint[]) \
    where true";
const INSERT_CAPABILITIES: &str = "\
    insert into agent_capabilities (tenant_id, capability, agent_id, sort_seq) \
    select n.tenant, c.capability, n.agent, n.sort_seq \
    from unnest($1::text[], $2::uuid[], $3::jsonb[], $4::bigint[]) \
        as n (tenant, agent, capabilities, sort_seq) \
    cross join lateral jsonb_array_elements_text(n.capabilities) as c (capability) \
    where true";

/// The statements of this file.
pub(crate) const STATEMENTS: &[&str] = &[INSERT, INSERT_CAPABILITIES];

/// Inserts new agents and their capabilities.
pub(super) fn insert(batch: &mut CteBatch, rows: &[AgentRow]) {
    batch.add(INSERT, rows, |insert, rows| {
        insert
            .bind(column(rows, |row| row.tenant.as_str()))
            .bind(column(rows, |row| row.agent.id.uuid()))
            .bind(column(rows, |row| row.agent.name.as_str()))
            .bind(column(rows, |row| search_key(&row.agent.name)))
            .bind(column(rows, |row| row.agent.personality.as_str()))
            .bind(column(rows, |row| Json(&row.agent.capabilities)))
            .bind(column(rows, |row| Json(&row.agent.config)))
            .bind(column(rows, |row| row.agent.version))
            .bind(column(rows, |row| row.agent.created_at.date_time()))
            .bind(column(rows, |row| row.agent.updated_at.date_time()))
            .bind(column(rows, |row| row.sort_seq.0))
    });
    let capable = rows.iter().filter(|row| !row.agent.capabilities.is_empty());
    batch.add(
        INSERT_CAPABILITIES,
        &capable.collect::<Vec<_>>(),
        |insert, rows| {
            insert
                .bind(column(rows, |row| row.tenant.as_str()))
                .bind(column(rows, |row| row.agent.id.uuid()))
                .bind(column(rows, |row| Json(&row.agent.capabilities)))
                .bind(column(rows, |row| row.sort_seq.0))
        },
    );
}
