//! The deletion of a file that nothing uses.

use domain::{FileId, TenantId};
use ports::{FactsQuery, RepositoryError};

use crate::{Command, Part, Planned, Planner, Scope};

/// Deletes a file, unless a message or a note uses it. It has no event.
#[derive(Debug, Clone)]
pub struct DeleteFile {
    /// The tenant that owns the data.
    pub tenant: TenantId,
    /// The file.
    pub id: FileId,
}

/// The outcome of a [`DeleteFile`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeleteFileOutcome {
    /// It is deleted, now or earlier.
    Deleted,
    /// A message or a note uses it.
    InUse,
}

impl Command for DeleteFile {
    type Outcome = DeleteFileOutcome;

    fn scope(&self) -> Scope {
        Scope::new(&self.tenant, [Part::File(self.id)])
    }

    fn needs(&self, query: &mut FactsQuery) {
        query.files.insert((self.tenant.clone(), self.id));
    }

    fn plan(&self, planner: &mut Planner<'_>) -> Result<Planned<Self::Outcome>, RepositoryError> {
        let key = (self.tenant.clone(), self.id);
        let Some(found) = planner.facts.files.get(&key) else {
            return Ok(Planned::Rejected(DeleteFileOutcome::Deleted));
        };
        if found.expires_at.is_none() {
            return Ok(Planned::Rejected(DeleteFileOutcome::InUse));
        }
        planner.rows.deleted_files.push(key);
        Ok(Planned::Applied(DeleteFileOutcome::Deleted))
    }
}
