//! The foreign issuers that are trusted.

use std::{collections::HashMap, sync::Arc};

use ports::{Clock, RepositoryError, TenantRepository};

use super::{
    Issuer, KeySets, TenantOfUsers, external_issuer::ExternalIssuer, known_tenants::KnownTenants,
};
use crate::access::{AccessError, AuthContext, jwt::UnverifiedToken};

/// How much of an unknown issuer's name is logged: anybody can write one.
const MOST_LOGGED_CHARACTERS: usize = 200;

/// The foreign issuers that are trusted. A token goes to the one that it names, and to no other
/// after that one has refused it.
pub struct Issuers {
    by_name: HashMap<String, ExternalIssuer>,
    tenants: KnownTenants,
    clock: Arc<dyn Clock>,
}

impl Issuers {
    /// These issuers; of two of one name the later counts, which the configuration refuses.
    pub fn new(
        issuers: Vec<Issuer>,
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

    /// Makes the tenants that the operator has given to issuers, where they are missing.
    pub async fn make_tenants(&self) -> Result<(), RepositoryError> {
        for issuer in self.by_name.values() {
            if let TenantOfUsers::Fixed(tenant) = &issuer.issuer.tenant {
                self.tenants.make(tenant, self.clock.now()).await?;
            }
        }
        Ok(())
    }

    /// Lets the user of a token in, or not.
    pub async fn verify(&self, token: &UnverifiedToken<'_>) -> Result<AuthContext, AccessError> {
        let named = token.issuer().and_then(|name| self.by_name.get(name));
        let issuer = named.ok_or_else(|| {
            let named = token.issuer().unwrap_or_default();
            let named: String = named.chars().take(MOST_LOGGED_CHARACTERS).collect();
            // Quoted: a space or a slash at its end is what one looks for here.
            tracing::debug!(
                iss = ?named,
                why = "its `iss` is neither ours nor that of a configured issuer",
                "a token is refused"
            );
            AccessError::Invalid
        })?;
        issuer.verify(token, &self.tenants, &*self.clock).await
    }
}
