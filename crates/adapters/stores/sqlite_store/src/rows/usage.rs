//! Rows of `usage_entries`.

use ports::write_store::UsageRow;

use super::change::Changes;

const INSERT: &str = "\
    insert into usage_entries (tenant_id, turn_id, number, kind, agent_id, agent_version, \
        conversation_id, user_id, principal, engine, model, input_tokens, cached_input_tokens, \
        output_tokens, reasoning_tokens, at) \
    values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) on conflict do nothing";

/// The statements of this file.
pub(crate) const STATEMENTS: &[&str] = &[INSERT];

/// Inserts a request to a model, unless it is stored.
pub(super) fn insert<'r>(changes: &mut Changes<'r>, row: &'r UsageRow) {
    let request = &row.request;
    let usage = request.usage;
    changes.add(
        INSERT,
        [
            row.tenant.as_str().into(),
            row.turn_id.into(),
            request.number.into(),
            row.kind.as_str().into(),
            row.agent_id.into(),
            row.agent_version.into(),
            row.conversation_id.into(),
            row.user_id.as_deref().into(),
            row.principal.as_str().into(),
            request.engine.as_str().into(),
            request.model.as_deref().into(),
            usage.map(|usage| usage.input_tokens).into(),
            usage.and_then(|usage| usage.cached_input_tokens).into(),
            usage.map(|usage| usage.output_tokens).into(),
            usage.and_then(|usage| usage.reasoning_tokens).into(),
            row.at.into(),
        ],
    );
}
