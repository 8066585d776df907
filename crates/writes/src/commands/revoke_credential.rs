//! The revocation of a credential.

use domain::{CredentialId, CredentialKind, TenantId, Timestamp};
use ports::{
    FactsQuery, RepositoryError,
    write_store::{CredentialKey, Revocation},
};

use crate::{Command, Part, Planned, Planner, Scope};

/// Revokes a credential, unless an earlier call has done so, and raises the access version. The
/// outcome is `false` if the tenant has no such credential.
#[derive(Debug, Clone)]
pub struct RevokeCredential {
    /// The tenant that owns the data.
    pub tenant: TenantId,
    /// The kind of the credential.
    pub kind: CredentialKind,
    /// The credential.
    pub id: CredentialId,
    /// The time of the revocation.
    pub at: Timestamp,
}

impl Command for RevokeCredential {
    type Outcome = bool;

    fn scope(&self) -> Scope {
        Scope::new(&self.tenant, [Part::Credential(self.id.clone())])
    }

    fn needs(&self, query: &mut FactsQuery) {
        query.credentials.insert(CredentialKey {
            id: self.id.clone(),
            tenant: self.tenant.clone(),
            kind: self.kind,
        });
    }

    fn plan(&self, planner: &mut Planner<'_>) -> Result<Planned<Self::Outcome>, RepositoryError> {
        let found = planner.facts.credentials.get(&self.id);
        let found = found.filter(|found| (&found.tenant, found.kind) == (&self.tenant, self.kind));
        let Some(found) = found else {
            return Ok(Planned::Rejected(false));
        };
        if !found.is_revoked {
            planner.rows.revocations.push(Revocation {
                id: self.id.clone(),
                revoked_at: self.at,
            });
            planner.rows.state.raises_access_version = true;
        }
        Ok(Planned::Applied(true))
    }
}
