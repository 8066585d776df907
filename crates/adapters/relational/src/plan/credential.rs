//! The creation and the revocation of a credential.

use domain::CredentialKind;
use ports::{Idempotent, RepositoryError};

use super::Planner;
use crate::{CreateCredential, IdempotencyRow, Revocation, RevokeCredential, WriteOutcome};

/// Checks the idempotency key first, then whether the id is unused.
pub(super) fn create(
    planner: &mut Planner<'_>,
    create: &CreateCredential,
) -> Result<WriteOutcome, RepositoryError> {
    let CreateCredential {
        credential,
        idempotency,
    } = create;
    let tenant = &credential.tenant;
    if let Some(record) = planner.facts.existing_record(tenant, idempotency.as_ref()) {
        let replayed = Idempotent::Replayed(record.clone());
        return Ok(WriteOutcome::CreateCredential(replayed));
    }
    if planner.facts.credentials.contains_key(&credential.id) {
        return Err(RepositoryError::Conflict {
            what: credential.kind.as_str(),
        });
    }
    planner.rows.credentials.push(credential.clone());
    planner.rows.state.records_key |= credential.kind == CredentialKind::Key;
    let record = IdempotencyRow::without_turn(tenant, idempotency.as_ref());
    planner.rows.idempotency.extend(record);
    Ok(WriteOutcome::CreateCredential(Idempotent::Applied(())))
}

/// Revokes the credential, unless an earlier call has done so.
pub(super) fn revoke(planner: &mut Planner<'_>, revoke: &RevokeCredential) -> WriteOutcome {
    let found = planner.facts.credentials.get(&revoke.id);
    let found = found.filter(|found| (&found.tenant, found.kind) == (&revoke.tenant, revoke.kind));
    if found.is_some_and(|found| !found.is_revoked) {
        planner.rows.revocations.push(Revocation {
            id: revoke.id.clone(),
            revoked_at: revoke.at,
        });
        planner.rows.state.raises_access_version = true;
    }
    WriteOutcome::RevokeCredential(found.is_some())
}
