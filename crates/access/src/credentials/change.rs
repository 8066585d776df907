//! Changes of the content of keys and clients.

use domain::{
    AgentReach, Credential, CredentialId, CredentialKind, InputFault, Principal,
    credential_draft::check_reach,
};
use ports::RepositoryError;
use serde_json::{Value, json};
use writes::UpdateCredential;

use super::{CredentialError, CredentialService, privilege};

impl CredentialService {
    /// Applies a JSON merge patch that matches its schema to a key or client, also to an expired one.
    /// Returns it as stored.
    pub async fn patch(
        &self,
        caller: &Principal,
        kind: CredentialKind,
        id: &CredentialId,
        patch: &Value,
    ) -> Result<Credential, CredentialError> {
        let before = self.get(caller, kind, id).await?;
        privilege::check(caller, &before.scopes)?;
        if before.revoked_at.is_some() {
            return Err(CredentialError::RevokedOrExpired(kind));
        }
        let patch = within_reach(patch, &caller.agents);
        let draft = before.draft().patched(&patch).map_err(corrupt)?;
        let mut faults = draft.check(kind, self.name_characters, self.clock.now());
        faults.extend(check_reach(&caller.agents, &draft.agents));
        // Members that stay may break a rule of today: an expired key can be renamed.
        faults.retain(|fault| is_about(fault, &patch));
        if !faults.is_empty() {
            return Err(CredentialError::Invalid(faults));
        }
        if before.changed_to(draft).is_none() {
            return Ok(before);
        }
        let update = UpdateCredential {
            tenant: caller.tenant.clone(),
            kind,
            id: id.clone(),
            reach: caller.agents.clone(),
            patch,
        };
        // It existed a moment ago, so it was revoked meanwhile.
        let changed = self.writes.write(update).await?;
        let changed = changed.ok_or(CredentialError::RevokedOrExpired(kind))?;
        self.refresh_authenticator().await;
        Ok(changed)
    }
}

/// Returns a patch in which all agents are those that the caller reaches.
fn within_reach(patch: &Value, reach: &AgentReach) -> Value {
    let mut patch = patch.clone();
    if let (Some(ids), Some(agents @ Value::Null)) = (reach.ids(), patch.get_mut("agentIds")) {
        *agents = json!(ids);
    }
    patch
}

/// Returns whether a fault is about a member of the patch.
fn is_about(fault: &InputFault, patch: &Value) -> bool {
    let member = fault.pointer.split('/').nth(1);
    member.is_some_and(|member| patch.get(member).is_some())
}

fn corrupt(error: serde_json::Error) -> RepositoryError {
    RepositoryError::Corrupt {
        what: "credentials.limits".to_owned(),
        source: error.into(),
    }
}
