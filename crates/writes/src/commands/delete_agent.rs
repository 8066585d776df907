//! The deletion of an agent.

use domain::{AgentId, Stamp, TenantId};
use ports::{
    Facts, FactsQuery, RepositoryError,
    write_store::{AgentDeletion, InTenant, OpenTurnsOf},
};

use super::check_version;
use crate::{Command, Committed, DeleteOutcome, Part, Planned, Planner, Scope, event_rows};

/// Marks an agent as deleted, cancels its queued and running turns (one `turn.cancelled` each, in
/// the order of the turn ids), and writes `agent.deleted` last. `Stale` if `expected` is given and
/// differs from the stored version.
///
/// Afterwards, the agent, its conversations, their messages and the turns that had ended before are
/// not found. The turns that it cancelled are found until they are purged.
#[derive(Debug, Clone)]
pub struct DeleteAgent {
    /// The tenant that owns the data.
    pub tenant: TenantId,
    /// The agent.
    pub id: AgentId,
    /// The version that the caller expects.
    pub expected: Option<i64>,
    /// The time and the actor.
    pub stamp: Stamp,
}

impl DeleteAgent {
    fn open_turns(&self) -> InTenant<OpenTurnsOf> {
        let turns = OpenTurnsOf {
            agent: self.id,
            conversation: None,
        };
        (self.tenant.clone(), turns)
    }
}

impl Command for DeleteAgent {
    type Outcome = DeleteOutcome;

    fn scope(&self) -> Scope {
        Scope::new(&self.tenant, [Part::Agent(self.id)])
    }

    /// The agent may have any number of open turns.
    fn is_long(&self) -> bool {
        true
    }

    fn needs(&self, query: &mut FactsQuery) {
        query.agents.insert((self.tenant.clone(), self.id));
    }

    fn needs_more(&self, facts: &Facts, query: &mut FactsQuery) {
        if facts.agents.contains_key(&(self.tenant.clone(), self.id)) {
            query.open_turns.push(self.open_turns());
        }
    }

    fn plan(&self, planner: &mut Planner<'_>) -> Result<Planned<Self::Outcome>, RepositoryError> {
        let Self {
            tenant,
            id,
            expected,
            stamp,
        } = self;
        let facts = planner.facts;
        let Some(version) = facts.agents.get(&(tenant.clone(), *id)) else {
            return Ok(Planned::Rejected(DeleteOutcome::NotFound));
        };
        check_version("agent", *version, *expected)?;
        let first = planner.head(tenant).plus(1);
        let open = facts.open_turns.get(&self.open_turns());
        planner.cancel_open_turns(tenant, open.map_or(&[], Vec::as_slice), stamp);
        let last = planner.log(tenant, stamp, |position| {
            event_rows::agent_deleted(position, *id, *version)
        });
        planner.rows.agent_deletions.push(AgentDeletion {
            tenant: tenant.clone(),
            id: *id,
            deleted_at: stamp.time,
        });
        let deleted = DeleteOutcome::Deleted(Committed { first, last });
        Ok(Planned::Applied(deleted))
    }
}
