//! The creation of a file.

use domain::{IdempotencyEntry, TenantId};
use ports::{
    Facts, FactsQuery, Idempotent, RepositoryError,
    write_store::{FileRow, InTenant, RecordKey},
};

use crate::{Command, Part, Planned, Planner, Scope};

/// Stores a file whose content is stored already, and the idempotency entry. Writes nothing if the entry's key was
/// used before. It has no event.
#[derive(Debug, Clone)]
pub struct CreateFile {
    /// The file.
    pub row: FileRow,
    /// The idempotency entry.
    pub idempotency: Option<IdempotencyEntry>,
}

impl CreateFile {
    fn tenant(&self) -> &TenantId {
        &self.row.tenant
    }

    fn record(&self) -> Option<RecordKey> {
        RecordKey::of(self.tenant(), self.idempotency.as_ref())
    }

    fn file(&self) -> InTenant<domain::FileId> {
        (self.tenant().clone(), self.row.file.reference.id)
    }
}

impl Command for CreateFile {
    type Outcome = Idempotent<()>;

    fn scope(&self) -> Scope {
        let file = Part::File(self.row.file.reference.id);
        let key = self.record().map(Part::Key);
        Scope::new(self.tenant(), [file].into_iter().chain(key))
    }

    fn needs(&self, query: &mut FactsQuery) {
        query.idempotency.extend(self.record());
        query.files.insert(self.file());
    }

    /// Its id is unique.
    fn stored(&self, facts: &Facts) -> Option<Self::Outcome> {
        let is_stored = facts.files.contains_key(&self.file());
        is_stored.then_some(Idempotent::Applied(()))
    }

    fn plan(&self, planner: &mut Planner<'_>) -> Result<Planned<Self::Outcome>, RepositoryError> {
        let idempotency = self.idempotency.as_ref();
        if let Some(replayed) = planner.replayed(self.tenant(), idempotency) {
            return Ok(replayed);
        }
        planner.rows.files.push(self.row.clone());
        planner.push_record(self.tenant(), self.idempotency.clone(), None);
        Ok(Planned::Applied(Idempotent::Applied(())))
    }
}
