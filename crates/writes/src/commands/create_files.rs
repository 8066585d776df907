//! The creation of a file.

use domain::{
    IdempotencyEntry, IdempotencyRecord, TenantId, UploadQuota,
    upload_quota::{UploadPolicy, end_of_day},
};
use ports::{
    Facts, FactsQuery, RepositoryError,
    write_store::{FileRow, InTenant, RecordKey, UploadDay, UploadRow},
};

use crate::{Command, Part, Planned, Planner, Scope};

/// Stores a file whose content is stored already, and the idempotency entry. Writes nothing if the entry's key was
/// used before. It has no event.
#[derive(Debug, Clone)]
pub struct CreateFile {
    /// The file.
    pub row: FileRow,
    /// The quota of its creator. Uploads without a limit are not counted.
    pub quota: UploadQuota,
    /// The idempotency entry.
    pub idempotency: Option<IdempotencyEntry>,
}

/// The outcome of a [`CreateFile`].
#[derive(Debug, Clone, PartialEq)]
pub enum CreateFileOutcome {
    /// It is stored.
    Created,
    /// The key was used before.
    Replayed(IdempotencyRecord),
    /// It is more than the creator may upload on this day.
    OverQuota(UploadPolicy),
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

    /// The day on which it counts.
    fn day(&self) -> Option<UploadDay> {
        self.quota.is_limited().then(|| UploadDay {
            tenant: self.tenant().clone(),
            principal: self.row.creator.clone(),
            ends_at: end_of_day(self.row.file.created_at),
        })
    }
}

impl Command for CreateFile {
    type Outcome = CreateFileOutcome;

    fn scope(&self) -> Scope {
        let file = Part::File(self.row.file.reference.id);
        let (key, day) = (self.record().map(Part::Key), self.day().map(Part::Uploads));
        Scope::new(self.tenant(), [file].into_iter().chain(key).chain(day))
    }

    fn needs(&self, query: &mut FactsQuery) {
        query.idempotency.extend(self.record());
        query.files.insert(self.file());
        query.uploads.extend(self.day());
    }

    /// Its id is unique.
    fn stored(&self, facts: &Facts) -> Option<Self::Outcome> {
        let is_stored = facts.files.contains_key(&self.file());
        is_stored.then_some(CreateFileOutcome::Created)
    }

    fn plan(&self, planner: &mut Planner<'_>) -> Result<Planned<Self::Outcome>, RepositoryError> {
        let idempotency = self.idempotency.as_ref();
        if let Some(record) = planner.facts.existing_record(self.tenant(), idempotency) {
            let replayed = CreateFileOutcome::Replayed(record.clone());
            return Ok(Planned::Rejected(replayed));
        }
        if let Some(day) = self.day() {
            let bytes = self.row.file.reference.bytes;
            let before = planner.facts.uploads.get(&day).copied().unwrap_or_default();
            if let Some(policy) = self.quota.exceeded_by(before.and(bytes)) {
                return Ok(Planned::Rejected(CreateFileOutcome::OverQuota(policy)));
            }
            planner.rows.uploads.push(UploadRow { day, bytes });
        }
        planner.rows.files.push(self.row.clone());
        planner.push_record(self.tenant(), self.idempotency.clone(), None);
        Ok(Planned::Applied(CreateFileOutcome::Created))
    }
}
