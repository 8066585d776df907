//! The creation of an agent.

use ports::{Idempotent, RepositoryError};

use super::{Planner, committed};
use crate::{AgentRow, CreateAgent, RecordRow, WriteOutcome, event_rows};

/// Checks the idempotency key first, then whether the id is unused.
pub(super) fn create(
    planner: &mut Planner<'_>,
    create: &CreateAgent,
) -> Result<WriteOutcome, RepositoryError> {
    let CreateAgent {
        tenant,
        agent,
        stamp,
        idempotency,
    } = create;
    if let Some(record) = planner.facts.existing_record(tenant, idempotency.as_ref()) {
        let replayed = Idempotent::Replayed(record.clone());
        return Ok(WriteOutcome::CreateAgent(replayed));
    }
    let key = (tenant.clone(), agent.id);
    if planner.facts.existing_agents.contains(&key) {
        return Err(RepositoryError::Conflict { what: "agent" });
    }
    let created = planner.log(tenant, stamp, |position| {
        event_rows::agent_created(position, agent)
    });
    planner.rows.agents.push(AgentRow {
        tenant: tenant.clone(),
        agent: agent.clone(),
        sort_seq: created,
    });
    let record = RecordRow::without_turn(tenant, idempotency.as_ref());
    planner.rows.idempotency.extend(record);
    Ok(WriteOutcome::CreateAgent(Idempotent::Applied(committed(
        created, created,
    ))))
}
