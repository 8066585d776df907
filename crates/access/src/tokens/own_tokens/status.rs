//! The current status of access tokens of this service that were verified before.

use domain::{CredentialId, CredentialKind, Principal};
use futures::future::try_join;
use uuid::Uuid;

use super::OwnTokens;
use crate::{AccessError, AuthContext, CredentialStatus};

impl OwnTokens {
    /// Returns true if the tokens of `user` with this generation have not been withdrawn.
    pub(crate) async fn is_current_generation(
        &self,
        user: &Principal,
        generation: i64,
    ) -> Result<bool, AccessError> {
        let user_id = user.user_id.as_deref().unwrap_or_default();
        Ok(self.tokens.user_generation(&user.tenant, user_id).await? == generation)
    }

    /// Checks the current status of a token that was verified before. The arguments are its `jti`,
    /// its client or issuer, its signing key and its access then.
    pub(crate) async fn check_status(
        &self,
        id: Uuid,
        (kind, credential): (CredentialKind, &CredentialId),
        signing_key: &str,
        auth_context: &AuthContext,
    ) -> Result<CredentialStatus, AccessError> {
        let found = self.credentials.find(kind, credential);
        let is_revoked = self.tokens.is_revoked(id);
        let (found, is_revoked) = try_join(found, is_revoked).await?;
        let is_key_valid = self.keys.verifying_key(signing_key).await?.is_some();
        let credential = found.filter(|credential| credential.revoked_at.is_none());
        Ok(match credential {
            Some(credential) if is_key_valid && !is_revoked => {
                let is_reached = credential.agents.includes(&auth_context.principal.agents);
                if is_reached && credential.is_alive(self.clock.now()) {
                    let ends = [auth_context.ends_at, credential.expires_at];
                    let ends_at = ends.into_iter().flatten().min();
                    CredentialStatus::Valid { ends_at }
                } else {
                    CredentialStatus::Expired
                }
            }
            _ => CredentialStatus::Revoked,
        })
    }
}
