//! The claim of an idempotency key by a turn of which nothing else is stored.

use domain::{IdempotencyEntry, IdempotencyRecord, NodeId, TenantId, TurnId};
use ports::{
    Facts, FactsQuery, RepositoryError,
    write_store::{IdempotencyRow, RecordKey},
};

use crate::{Command, Part, Planned, Planner, Scope};

/// Claims an idempotency key for a turn that is about to run. Its answer is stored with
/// [`ports::IdempotencyRepository::settle`]. Writes nothing if the key was used before, and has not been released
/// since.
#[derive(Debug, Clone)]
pub struct ClaimKey {
    /// The tenant.
    pub tenant: TenantId,
    /// The idempotency entry.
    pub idempotency: IdempotencyEntry,
    /// The turn.
    pub turn_id: TurnId,
    /// The node that is about to run it. The key is released when it dies.
    pub node: NodeId,
}

/// The outcome of a [`ClaimKey`].
#[derive(Debug, Clone, PartialEq)]
pub enum ClaimOutcome {
    /// The turn may run.
    Claimed,
    /// Nothing was written: the key was used before, by the same command or another.
    Replayed(IdempotencyRecord),
    /// Nothing was written: the node is marked as dead or unknown.
    NodeDead,
}

impl ClaimKey {
    fn record<'f>(&self, facts: &'f Facts) -> Option<&'f IdempotencyRecord> {
        facts.existing_record(&self.tenant, Some(&self.idempotency))
    }
}

impl Command for ClaimKey {
    type Outcome = ClaimOutcome;

    fn scope(&self) -> Scope {
        let key = RecordKey::new(&self.tenant, &self.idempotency);
        Scope::new(&self.tenant, [Part::Key(key)])
    }

    fn starts_a_turn(&self) -> bool {
        true
    }

    fn needs(&self, query: &mut FactsQuery) {
        let key = RecordKey::new(&self.tenant, &self.idempotency);
        query.idempotency.push(key);
        query.nodes.insert(self.node);
    }

    /// It has no event, but its turn is unique.
    fn stored(&self, facts: &Facts) -> Option<Self::Outcome> {
        let is_own = self.record(facts)?.turn_id == Some(self.turn_id);
        is_own.then_some(ClaimOutcome::Claimed)
    }

    /// Checks the idempotency key first.
    fn plan(&self, planner: &mut Planner<'_>) -> Result<Planned<Self::Outcome>, RepositoryError> {
        let used = self.record(planner.facts);
        if let Some(used) = used.filter(|record| record.released_into.is_none()) {
            return Ok(Planned::Rejected(ClaimOutcome::Replayed(used.clone())));
        }
        if !planner.facts.live_nodes.contains(&self.node) {
            return Ok(Planned::Rejected(ClaimOutcome::NodeDead));
        }
        planner.rows.idempotency.push(IdempotencyRow {
            tenant: self.tenant.clone(),
            idempotency: self.idempotency.clone(),
            turn_id: Some(self.turn_id),
            claimed_by: Some(self.node),
        });
        Ok(Planned::Applied(ClaimOutcome::Claimed))
    }
}
