//! The creation and the update of an agent.

use ports::{Idempotent, RepositoryError};

use super::{Planner, check_version, committed};
use crate::{
    AgentRow, AgentUpdate, CreateAgent, IdempotencyRow, UpdateAgent, WriteOutcome, event_rows,
};

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
    let record = IdempotencyRow::without_turn(tenant, idempotency.as_ref());
    planner.rows.idempotency.extend(record);
    Ok(WriteOutcome::CreateAgent(Idempotent::Applied(committed(
        created, created,
    ))))
}

/// Replaces the agent, if the stored version is the one before.
pub(super) fn update(
    planner: &mut Planner<'_>,
    update: &UpdateAgent,
) -> Result<WriteOutcome, RepositoryError> {
    let UpdateAgent {
        tenant,
        agent,
        stamp,
    } = update;
    let Some(stored) = planner.facts.agents.get(&(tenant.clone(), agent.id)) else {
        return Ok(WriteOutcome::UpdateAgent(None));
    };
    check_version("agent", *stored, Some(agent.version - 1))?;
    let updated = planner.log(tenant, stamp, |position| {
        event_rows::agent_updated(position, agent)
    });
    planner.rows.agent_updates.push(AgentUpdate {
        tenant: tenant.clone(),
        agent: agent.clone(),
    });
    let committed = committed(updated, updated);
    Ok(WriteOutcome::UpdateAgent(Some(committed)))
}
