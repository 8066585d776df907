//! A change of the content of a credential.

use domain::{AgentReach, Credential, CredentialId, CredentialKind, TenantId};
use ports::{FactsQuery, RepositoryError, write_store::CredentialKey};
use serde_json::Value;

use crate::{Command, Part, Planned, Planner, Scope};

/// Applies a JSON merge patch to the stored content of a credential, and raises the access version if
/// that changes anything. Returns the credential as stored; `None` if the tenant has no such credential
/// within `reach`, or it is revoked.
#[derive(Debug, Clone)]
pub struct UpdateCredential {
    /// The tenant that owns the data.
    pub tenant: TenantId,
    /// The kind of the credential.
    pub kind: CredentialKind,
    /// The credential.
    pub id: CredentialId,
    /// The agents that the caller can reach.
    pub reach: AgentReach,
    /// A patch that was checked.
    pub patch: Value,
}

impl UpdateCredential {
    fn can_change(&self, stored: &Credential) -> bool {
        (&stored.tenant, stored.kind) == (&self.tenant, self.kind)
            && stored.revoked_at.is_none()
            && self.reach.includes(&stored.agents)
    }
}

impl Command for UpdateCredential {
    type Outcome = Option<Credential>;

    fn scope(&self) -> Scope {
        Scope::new(&self.tenant, [Part::Credential(self.id.clone())])
    }

    fn needs(&self, query: &mut FactsQuery) {
        query.credentials.insert(CredentialKey {
            id: self.id.clone(),
            tenant: self.tenant.clone(),
            kind: self.kind,
        });
        query.whole_credentials.insert(self.id.clone());
    }

    fn plan(&self, planner: &mut Planner<'_>) -> Result<Planned<Self::Outcome>, RepositoryError> {
        let stored = planner.facts.whole_credentials.get(&self.id);
        let Some(stored) = stored.filter(|stored| self.can_change(stored)) else {
            return Ok(Planned::Rejected(None));
        };
        let patched = stored.draft().patched(&self.patch);
        let patched = patched.map_err(|error| RepositoryError::Corrupt {
            what: "credentials.limits".to_owned(),
            source: error.into(),
        })?;
        let Some(changed) = stored.changed_to(patched) else {
            return Ok(Planned::Applied(Some(stored.clone())));
        };
        planner.rows.credential_updates.push(changed.clone());
        planner.rows.state.raises_access_version = true;
        Ok(Planned::Applied(Some(changed)))
    }
}
