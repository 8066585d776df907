//! The status of the credential that sent a message, while its turn runs.

use std::sync::Arc;

use domain::{
    CredentialId, CredentialKind, LimitOverrides, Principal, Scopes, principal::USER_PREFIX,
};
use ports::ToolContext;

use super::Authenticator;
use crate::{AccessError, AuthContext, CredentialStatus};

impl Authenticator {
    /// Returns whether the credential that sent the message of a turn was revoked or withdrawn since;
    /// `None` if that is unknown. An expired credential was not withdrawn.
    pub(crate) async fn is_withdrawn(
        &self,
        context: &ToolContext,
    ) -> Result<Option<bool>, AccessError> {
        let user_id = context.started_by.as_str().strip_prefix(USER_PREFIX);
        let principal = Principal {
            tenant: context.tenant.clone(),
            id: context.started_by.clone(),
            scopes: Scopes::NONE,
            user_id: user_id.map(str::to_owned),
            agents: domain::AgentReach::ALL,
            names_user: false,
        };
        let Some(source) = &context.credential else {
            return self.is_principal_withdrawn(principal).await;
        };
        let sender = AuthContext {
            principal,
            credential: None,
            source: Arc::clone(source),
            allowed_origins: Vec::new(),
            limits: LimitOverrides::default(),
            ends_at: None,
        };
        // Not from the cache of statuses, whose entries contain the end of the credential.
        let status = self.read_status(&sender).await?;
        Ok(Some(status == CredentialStatus::Revoked))
    }

    /// Like [`Self::is_withdrawn`], for a message that another process has received: the token of a
    /// user is not known here.
    async fn is_principal_withdrawn(
        &self,
        principal: Principal,
    ) -> Result<Option<bool>, AccessError> {
        if principal.user_id.is_some() {
            let is_first = self.own_tokens().is_current_generation(&principal, 0);
            return Ok(is_first.await?.then_some(false));
        }
        let Some((kind, id)) = credential_of(principal.id.as_str()) else {
            // Tokens of an identity provider cannot be withdrawn here.
            return Ok(Some(false));
        };
        let found = self.credentials.find(kind, &id).await?;
        let credential = found.filter(|credential| credential.revoked_at.is_none());
        Ok(Some(credential.is_none()))
    }
}

/// Returns the key or the client that a principal is.
fn credential_of(principal: &str) -> Option<(CredentialKind, CredentialId)> {
    let (kind, id) = principal.split_once(':')?;
    Some((kind.parse().ok()?, id.parse().ok()?))
}
