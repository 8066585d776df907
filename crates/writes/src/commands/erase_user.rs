//! The erasure of a user's data: its beginning and its end.

use domain::{ErasureId, Stamp, TenantId, erasure::EndedErasure};
use ports::{FactsQuery, RepositoryError, write_store::ErasureRow};

use crate::{Command, Committed, Part, Planned, Planner, Scope, event_rows};

/// Deletes what is stored about a user, and stores that all of its data is to be erased. Writes `user.updated`.
#[derive(Debug, Clone)]
pub struct BeginErasure {
    /// The tenant that owns the data.
    pub tenant: TenantId,
    /// The new erasure.
    pub id: ErasureId,
    /// The user.
    pub user_id: String,
    /// The time and the actor.
    pub stamp: Stamp,
}

impl Command for BeginErasure {
    type Outcome = Committed;

    fn scope(&self) -> Scope {
        Scope::new(&self.tenant, [Part::User(self.user_id.clone())])
    }

    fn needs(&self, _query: &mut FactsQuery) {}

    fn plan(&self, planner: &mut Planner<'_>) -> Result<Planned<Self::Outcome>, RepositoryError> {
        let seq = planner.log(&self.tenant, &self.stamp, |position| {
            event_rows::user_updated(position, &self.user_id)
        });
        planner.rows.erasures.push(ErasureRow {
            tenant: self.tenant.clone(),
            id: self.id,
            user_id: self.user_id.clone(),
        });
        Ok(Planned::Applied(Committed::at(seq)))
    }
}

/// Ends an erasure. Writes `user.erased`.
#[derive(Debug, Clone)]
pub struct EndErasure {
    /// The tenant that owns the data.
    pub tenant: TenantId,
    /// The erasure.
    pub erasure: EndedErasure,
    /// The time and the actor.
    pub stamp: Stamp,
}

impl Command for EndErasure {
    type Outcome = Committed;

    fn scope(&self) -> Scope {
        Scope::new(&self.tenant, [])
    }

    fn needs(&self, _query: &mut FactsQuery) {}

    fn plan(&self, planner: &mut Planner<'_>) -> Result<Planned<Self::Outcome>, RepositoryError> {
        let seq = planner.log(&self.tenant, &self.stamp, |position| {
            event_rows::user_erased(position, &self.erasure)
        });
        let ended = (self.tenant.clone(), self.erasure.erasure_id);
        planner.rows.ended_erasures.push(ended);
        Ok(Planned::Applied(Committed::at(seq)))
    }
}
