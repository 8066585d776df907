//! Rows of `messages`.

use domain::{FinishReason, TurnId};
use relational::MessageRow;

use super::column;
use crate::cte_batch::CteBatch;

const INSERT: &str = "\
    insert into messages (tenant_id, conversation_id, seq, id, turn_id, role, content, \
        created_at, engine, agent_version, finish_reason, input_tokens, output_tokens) \
    select * from unnest($1::text[], $2::uuid[], $3::bigint[], $4::uuid[], $5::uuid[], \
        $6::text[], $7::text[], $8::timestamptz[], $9::text[], $10::bigint[], $11::text[], \
        $12::bigint[], $13::bigint[]) where true";

/// The statements of this file.
pub(crate) const STATEMENTS: &[&str] = &[INSERT];

/// Inserts new messages.
pub(super) fn insert(batch: &mut CteBatch, rows: &[MessageRow]) {
    batch.add(INSERT, rows, |insert, rows| {
        insert
            .bind(column(rows, |row| row.tenant.as_str()))
            .bind(column(rows, |row| row.message.conversation_id.uuid()))
            .bind(column(rows, |row| row.message.seq))
            .bind(column(rows, |row| row.message.id.uuid()))
            .bind(column(rows, |row| row.message.turn_id.map(TurnId::uuid)))
            .bind(column(rows, |row| row.message.role.as_str()))
            .bind(column(rows, |row| row.message.content.as_str()))
            .bind(column(rows, |row| row.message.created_at.date_time()))
            .bind(column(rows, |row| row.message.engine.as_deref()))
            .bind(column(rows, |row| row.message.agent_version))
            .bind(column(rows, |row| {
                row.message.finish_reason.map(FinishReason::as_str)
            }))
            .bind(column(rows, |row| {
                row.message.usage.map(|usage| usage.input_tokens)
            }))
            .bind(column(rows, |row| {
                row.message.usage.map(|usage| usage.output_tokens)
            }))
    });
}
