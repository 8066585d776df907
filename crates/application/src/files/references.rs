//! The files that a client names for a message.

use domain::{FileId, FileReference, Principal, Timestamp};
use ports::RepositoryError;

use crate::cache::CachedPorts;

/// Finds files that the caller may read; `None` if it may not read one of them.
pub(crate) async fn find_references(
    ports: &CachedPorts,
    caller: &Principal,
    ids: &[FileId],
    now: Timestamp,
) -> Result<Option<Vec<FileReference>>, RepositoryError> {
    if ids.is_empty() {
        return Ok(Some(Vec::new()));
    }
    let found = ports.files.find(&caller.tenant, ids).await?;
    let usable = |id: &FileId| {
        let file = found.iter().find(|it| it.file.reference.id == *id)?;
        let is_readable = file.may_be_read_by(caller, now);
        is_readable.then(|| file.file.reference.clone())
    };
    Ok(ids.iter().map(usable).collect())
}
