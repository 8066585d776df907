//! Verification of the tokens of one external issuer.

use std::sync::Arc;

use domain::{CredentialSource, LimitOverrides, Principal, PrincipalId, TenantId};
use ports::{Clock, UrlTrust};

use super::{
    IssuerConfig, KeySet, KeySets, TenantSource, known_tenants::KnownTenants,
    permissions::granted_scopes, token_kind::is_access_token,
};
use crate::{
    AccessError, AuthContext,
    jwt::{Claims, UnverifiedToken, texts},
};

/// The maximum length of a subject, in characters (RFC 7519 and `OpenID` Connect: 255).
const MAX_SUBJECT_CHARACTERS: usize = 255;

/// An external issuer and its keys.
pub(super) struct ExternalIssuer {
    pub(super) issuer: IssuerConfig,
    keys: KeySet,
}

impl ExternalIssuer {
    pub(super) fn new(issuer: IssuerConfig, key_sets: &KeySets) -> Self {
        let keys = key_sets.at(issuer.keys.clone(), UrlTrust::Operator);
        Self { issuer, keys }
    }

    /// Verifies a token and returns the access of its user.
    pub(super) async fn authenticate(
        &self,
        token: &UnverifiedToken<'_>,
        tenants: &KnownTenants,
        clock: &dyn Clock,
    ) -> Result<AuthContext, AccessError> {
        let verified = self.keys.verify(token, &self.issuer.algorithms).await;
        let unavailable = |_| AccessError::IssuerUnavailable(self.issuer.id.to_string());
        let proven = verified.map_err(unavailable)?;
        let claims = proven.ok_or_else(|| self.reject("no key of the issuer signed it"))?;
        let ends_at = claims.check_time(clock.now())?;
        if !self.is_for_this_service(&claims) {
            return Err(self.reject("it names no configured audience"));
        }
        if !is_access_token(self.issuer.token_type, token, &claims) {
            return Err(self.reject("its type or claims are not those of an access token"));
        }
        let user = self.user(&claims);
        let user = user.ok_or_else(|| self.reject("its subject is missing or malformed"))?;
        let tenant = self.tenant(&claims, tenants).await?;
        let tenant = tenant.ok_or_else(|| self.reject("its tenant does not exist"))?;
        Ok(AuthContext {
            principal: Principal {
                tenant,
                id: PrincipalId::new(user.as_str()),
                scopes: granted_scopes(&claims, &self.issuer),
                agents: self.issuer.agents.clone(),
                user_id: Some(user),
                names_user: false,
            },
            credential: None,
            source: Arc::new(CredentialSource::ExternalToken),
            allowed_origins: Vec::new(),
            limits: LimitOverrides::default(),
            ends_at: Some(ends_at),
        })
    }

    /// Logs the reason for the operator and returns an error without it for the caller.
    fn reject(&self, reason: &'static str) -> AccessError {
        tracing::debug!(
            issuer = self.issuer.id.as_str(),
            reason,
            "access token rejected"
        );
        AccessError::Invalid
    }

    fn is_for_this_service(&self, claims: &Claims) -> bool {
        let ours = &self.issuer.audiences;
        let substitute = self.issuer.audience_claim.as_ref();
        let named = match substitute.filter(|_| !claims.contains("aud")) {
            Some(path) => texts(path.find(claims.members())),
            None => claims.audiences(),
        };
        named
            .into_iter()
            .any(|audience| ours.iter().any(|own| own == audience))
    }

    /// The user's id, which is the principal's id too.
    fn user(&self, claims: &Claims) -> Option<String> {
        let subject = claims.text("sub")?;
        let allows = (1..=MAX_SUBJECT_CHARACTERS).contains(&subject.chars().count())
            && !subject.contains(char::is_control);
        allows.then(|| format!("{}~{subject}", self.issuer.id))
    }

    /// The user's tenant. `None` if the token names no existing tenant.
    async fn tenant(
        &self,
        claims: &Claims,
        tenants: &KnownTenants,
    ) -> Result<Option<TenantId>, AccessError> {
        match &self.issuer.tenant {
            TenantSource::Fixed(tenant) => Ok(Some(tenant.clone())),
            TenantSource::Claim(path) => {
                let claim = path.find(claims.members());
                let named = claim.and_then(|claim| claim.as_str()?.parse().ok());
                match named {
                    Some(tenant) => Ok(tenants.contains(&tenant).await?.then_some(tenant)),
                    None => Ok(None),
                }
            }
        }
    }
}
