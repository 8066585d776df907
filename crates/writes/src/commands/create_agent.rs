//! The creation of an agent.

use domain::{Agent, EventType, IdempotencyEntry, MemorySize as _, Stamp, TenantId};
use ports::{
    Committed, Facts, FactsQuery, Idempotent, RepositoryError,
    write_store::{AgentRow, IdempotencyRow, RecordKey},
};

use super::{in_doubt, update_agent::MAX_GROUPED_BYTES};
use crate::{Command, Part, Planned, Planner, Scope, event_rows, planner::committed};

/// Stores a new agent. Writes `agent.created` with a snapshot of the agent, and the idempotency
/// entry; writes nothing if the entry's key was used before. `Conflict` if the id exists.
#[derive(Debug, Clone)]
pub struct CreateAgent {
    /// The tenant that owns the data.
    pub tenant: TenantId,
    /// The new agent.
    pub agent: Agent,
    /// The time and the actor.
    pub stamp: Stamp,
    /// The idempotency entry.
    pub idempotency: Option<IdempotencyEntry>,
}

impl CreateAgent {
    fn key(&self) -> Option<RecordKey> {
        RecordKey::of(&self.tenant, self.idempotency.as_ref())
    }
}

impl Command for CreateAgent {
    type Outcome = Idempotent<Committed>;

    fn scope(&self) -> Scope {
        let key = self.key().map(Part::Key);
        let agent = Part::Agent(self.agent.id);
        Scope::new(&self.tenant, key.into_iter().chain([agent]))
    }

    fn is_long(&self) -> bool {
        self.agent.memory_bytes() > MAX_GROUPED_BYTES
    }

    fn needs(&self, query: &mut FactsQuery) {
        query.idempotency.extend(self.key());
        let agent = (self.tenant.clone(), self.agent.id);
        query.new_agents.push(agent);
    }

    fn stored(&self, facts: &Facts) -> Option<Self::Outcome> {
        let kind = EventType::AgentCreated;
        let at = in_doubt::agent_event(facts, &self.tenant, self.agent.id, &self.stamp, kind)?;
        Some(Idempotent::Applied(committed(at, at)))
    }

    /// Checks the idempotency key first, then whether the id is unused.
    fn plan(&self, planner: &mut Planner<'_>) -> Result<Planned<Self::Outcome>, RepositoryError> {
        let Self {
            tenant,
            agent,
            stamp,
            idempotency,
        } = self;
        if let Some(record) = planner.facts.existing_record(tenant, idempotency.as_ref()) {
            return Ok(Planned::Rejected(Idempotent::Replayed(record.clone())));
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
        let committed = committed(created, created);
        Ok(Planned::Applied(Idempotent::Applied(committed)))
    }
}
