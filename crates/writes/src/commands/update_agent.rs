//! The next version of an agent.

use domain::{Agent, EventType, MemorySize as _, Stamp, TenantId};
use ports::{Facts, FactsQuery, RepositoryError, write_store::AgentUpdate};

use super::{MAX_GROUPED_BYTES, check_version, in_doubt};
use crate::{Command, Committed, Part, Planned, Planner, Scope, event_rows};

/// Replaces an agent with its next version, and keeps both. Writes `agent.updated` with the new snapshot. `Stale`
/// unless the stored version is `agent.version - 1`; `None` if the agent does not exist.
#[derive(Debug, Clone)]
pub struct UpdateAgent {
    /// The tenant that owns the data.
    pub tenant: TenantId,
    /// The next version of the agent.
    pub agent: Agent,
    /// The time and the actor.
    pub stamp: Stamp,
}

impl Command for UpdateAgent {
    type Outcome = Option<Committed>;

    fn scope(&self) -> Scope {
        Scope::new(&self.tenant, [Part::Agent(self.agent.id)])
    }

    fn is_long(&self) -> bool {
        self.agent.memory_bytes() > MAX_GROUPED_BYTES
    }

    fn needs(&self, query: &mut FactsQuery) {
        query.agents.insert((self.tenant.clone(), self.agent.id));
    }

    fn stored(&self, facts: &Facts) -> Option<Self::Outcome> {
        let kind = EventType::AgentUpdated;
        let at = in_doubt::find(facts, &self.tenant, kind, |event| {
            event.agent_id == Some(self.agent.id) && event.stamp == self.stamp
        })?;
        Some(Some(Committed::at(at)))
    }

    fn plan(&self, planner: &mut Planner<'_>) -> Result<Planned<Self::Outcome>, RepositoryError> {
        let Self {
            tenant,
            agent,
            stamp,
        } = self;
        let Some(stored) = planner.facts.agents.get(&(tenant.clone(), agent.id)) else {
            return Ok(Planned::Rejected(None));
        };
        check_version("agent", *stored, Some(agent.version - 1))?;
        let updated = planner.log(tenant, stamp, |position| {
            event_rows::agent_updated(position, agent)
        });
        planner.rows.agent_updates.push(AgentUpdate {
            tenant: tenant.clone(),
            agent: agent.clone(),
            actor: stamp.actor.clone(),
        });
        Ok(Planned::Applied(Some(Committed::at(updated))))
    }
}
