//! The creation of files.

use domain::{
    FileId, IdempotencyEntry, IdempotencyRecord, PrincipalId, TenantId, Timestamp, UploadQuota,
    Uploads,
    upload_quota::{UploadPolicy, end_of_day},
};
use ports::{
    Facts, FactsQuery, RepositoryError,
    write_store::{FileRow, InTenant, RecordKey, UploadDay, UploadRow},
};

use crate::{Command, Part, Planned, Planner, Scope};

/// Stores files whose contents are stored already, all or none, and the idempotency entry. Writes nothing if the
/// entry's key was used before, unless its file is gone. It has no event.
#[derive(Debug, Clone)]
pub struct CreateFiles {
    /// The tenant of all of them.
    pub tenant: TenantId,
    /// The creator of all of them.
    pub creator: PrincipalId,
    /// The time of the creation.
    pub at: Timestamp,
    /// The files.
    pub rows: Vec<FileRow>,
    /// The quota of the creator. Uploads without a limit are not counted.
    pub quota: UploadQuota,
    /// The idempotency entry.
    pub idempotency: Option<IdempotencyEntry>,
    /// The file of an earlier upload with that key, if its creator cannot read it any more. Then the key is free.
    pub gone: Option<FileId>,
}

/// The outcome of [`CreateFiles`].
#[derive(Debug, Clone, PartialEq)]
pub enum CreateFilesOutcome {
    /// They are stored.
    Created,
    /// The key was used before.
    Replayed(IdempotencyRecord),
    /// They are more than the creator may upload on this day.
    OverQuota(UploadPolicy),
}

impl CreateFiles {
    fn record(&self) -> Option<RecordKey> {
        RecordKey::of(&self.tenant, self.idempotency.as_ref())
    }

    fn ids(&self) -> impl Iterator<Item = FileId> {
        self.rows.iter().map(|row| row.file.reference.id)
    }

    fn files(&self) -> impl Iterator<Item = InTenant<FileId>> {
        self.ids().map(|id| (self.tenant.clone(), id))
    }

    /// Returns true if a record is that of the file that is gone.
    fn is_free(&self, record: &IdempotencyRecord) -> bool {
        let result = record.result.as_ref();
        let of_record = result.and_then(|file| file.get("id")?.as_str());
        let gone = self.gone.map(|id| id.to_string());
        gone.is_some() && of_record == gone.as_deref()
    }

    /// The day on which they count.
    fn day(&self) -> Option<UploadDay> {
        self.quota.is_limited().then(|| UploadDay {
            tenant: self.tenant.clone(),
            principal: self.creator.clone(),
            ends_at: end_of_day(self.at),
        })
    }
}

impl Command for CreateFiles {
    type Outcome = CreateFilesOutcome;

    fn scope(&self) -> Scope {
        let (key, day) = (self.record().map(Part::Key), self.day().map(Part::Uploads));
        let files = self.ids().map(Part::File);
        Scope::new(&self.tenant, files.chain(key).chain(day))
    }

    fn needs(&self, query: &mut FactsQuery) {
        query.idempotency.extend(self.record());
        query.files.extend(self.files());
        query.uploads.extend(self.day());
    }

    /// Their ids are unique.
    fn stored(&self, facts: &Facts) -> Option<Self::Outcome> {
        let is_stored = self.files().any(|file| facts.files.contains_key(&file));
        is_stored.then_some(CreateFilesOutcome::Created)
    }

    fn plan(&self, planner: &mut Planner<'_>) -> Result<Planned<Self::Outcome>, RepositoryError> {
        let idempotency = self.idempotency.as_ref();
        if let Some(record) = planner.facts.existing_record(&self.tenant, idempotency)
            && !self.is_free(record)
        {
            let replayed = CreateFilesOutcome::Replayed(record.clone());
            return Ok(Planned::Rejected(replayed));
        }
        if let Some(day) = self.day() {
            let uploads = Uploads::of(self.rows.iter().map(|row| row.file.reference.bytes));
            let before = planner.facts.uploads.get(&day).copied().unwrap_or_default();
            if let Some(policy) = self.quota.exceeded_by(before.and(uploads)) {
                return Ok(Planned::Rejected(CreateFilesOutcome::OverQuota(policy)));
            }
            planner.rows.uploads.push(UploadRow { day, uploads });
        }
        planner.rows.files.extend(self.rows.iter().cloned());
        planner.push_record(&self.tenant, self.idempotency.clone(), None);
        Ok(Planned::Applied(CreateFilesOutcome::Created))
    }
}
