//! The creation of an agent.

use domain::{Agent, EventType, IdempotencyEntry, MemorySize as _, Stamp, TenantId};
use ports::{
    Facts, FactsQuery, Idempotent, RepositoryError,
    write_store::{AgentRow, RecordKey},
};

use super::{MAX_GROUPED_BYTES, in_doubt};
use crate::{Command, Committed, Part, Planned, Planner, Scope, event_rows};

/// Stores a new agent and keeps its version. Writes `agent.created` with a snapshot of the agent, and the idempotency
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
        let at = in_doubt::find(facts, &self.tenant, kind, |event| {
            event.agent_id == Some(self.agent.id) && event.stamp == self.stamp
        })?;
        Some(Idempotent::Applied(Committed::at(at)))
    }

    /// Checks the idempotency key first, then whether the id is unused.
    fn plan(&self, planner: &mut Planner<'_>) -> Result<Planned<Self::Outcome>, RepositoryError> {
        let Self {
            tenant,
            agent,
            stamp,
            idempotency,
        } = self;
        if let Some(replayed) = planner.replayed(tenant, idempotency.as_ref()) {
            return Ok(replayed);
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
            actor: stamp.actor.clone(),
            sort_seq: created,
        });
        planner.push_record(tenant, idempotency.clone(), None);
        let committed = Committed::at(created);
        Ok(Planned::Applied(Idempotent::Applied(committed)))
    }
}
