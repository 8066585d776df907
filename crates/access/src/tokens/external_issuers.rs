//! The trusted external issuers.

use std::{collections::HashMap, sync::Arc};

use ports::{Clock, RepositoryError, TenantRepository};

use super::{
    IssuerConfig, KeySets, TenantSource, external_issuer::ExternalIssuer,
    known_tenants::KnownTenants,
};
use crate::{AccessError, AuthContext, jwt::UnverifiedToken};

/// The number of characters of an unknown issuer's name that are logged. Any sender can choose it.
const MAX_LOGGED_CHARACTERS: usize = 200;

/// The trusted external issuers. The issuer in a token's `iss` alone verifies the token; no other
/// issuer is tried.
pub struct ExternalIssuers {
    by_name: HashMap<String, ExternalIssuer>,
    tenants: KnownTenants,
    clock: Arc<dyn Clock>,
}

impl ExternalIssuers {
    /// Creates the issuers. Of two issuers with the same name the later one counts; the
    /// configuration rejects such duplicates.
    pub fn new(
        issuers: Vec<IssuerConfig>,
        key_sets: &KeySets,
        tenants: Arc<dyn TenantRepository>,
        clock: Arc<dyn Clock>,
    ) -> Self {
        let by_name = issuers
            .into_iter()
            .map(|issuer| (issuer.name.clone(), ExternalIssuer::new(issuer, key_sets)))
            .collect();
        Self {
            by_name,
            tenants: KnownTenants::new(tenants),
            clock,
        }
    }

    /// Creates the missing tenants among those that the operator assigned to issuers.
    pub async fn create_missing_tenants(&self) -> Result<(), RepositoryError> {
        for issuer in self.by_name.values() {
            if let TenantSource::Fixed(tenant) = &issuer.issuer.tenant {
                self.tenants
                    .create_if_missing(tenant, self.clock.now())
                    .await?;
            }
        }
        Ok(())
    }

    /// Verifies a token with its issuer and returns the access of its user.
    pub async fn authenticate(
        &self,
        token: &UnverifiedToken<'_>,
    ) -> Result<AuthContext, AccessError> {
        let named = token.issuer().and_then(|name| self.by_name.get(name));
        let issuer = named.ok_or_else(|| {
            let named = token.issuer().unwrap_or_default();
            let named: String = named.chars().take(MAX_LOGGED_CHARACTERS).collect();
            // Quoted, because a space or a slash at the end is a common mistake.
            tracing::debug!(
                iss = ?named,
                reason = "its `iss` is not a configured issuer",
                "access token rejected"
            );
            AccessError::Invalid
        })?;
        issuer
            .authenticate(token, &self.tenants, &*self.clock)
            .await
    }
}
