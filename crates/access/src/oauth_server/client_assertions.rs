//! Client assertions (`private_key_jwt`, RFC 7523): short-lived tokens that a client signs itself.

use std::{convert::Infallible, sync::Arc, time::Duration};

use application::cache::weight;
use domain::{
    Credential, SecretDigest, Timestamp,
    credential::{Proof, PublicKeys},
};
use ports::{TokenRepository, UrlTrust};
use quick_cache::sync::Cache;
use sha2::{Digest, Sha256};

use super::OAuthError;
use crate::{
    jwt::{
        Claims, KeyBounds, LEEWAY, SignatureAlgorithm, SignatureCheck, UnverifiedToken,
        VerifyingKeys,
    },
    tokens::{KeyLocation, KeySet, KeySets, KeysUnavailable},
};

/// The maximum time until the end of an assertion. The store keeps its `jti` until then.
const MAX_LIFETIME: Duration = Duration::from_hours(1);
/// The maximum length of a `jti`, in characters.
const MAX_ID_CHARACTERS: usize = 255;
/// The maximum number of published key sets in the cache, of all clients together.
const MAX_CACHED_SETS: usize = 256;
/// The maximum size of a key set in memory, in bytes. The number of keys and the size of each key
/// are bounded.
const SET_BYTES: usize = 24 * 1024;

/// Verifies client assertions.
pub struct ClientAssertions {
    issuer: String,
    tokens: Arc<dyn TokenRepository>,
    key_sets: KeySets,
    published: Cache<String, KeySet>,
}

impl ClientAssertions {
    /// Verifies assertions whose audience is `issuer`, the name of this service.
    pub fn new(issuer: String, tokens: Arc<dyn TokenRepository>, key_sets: KeySets) -> Self {
        Self {
            issuer,
            tokens,
            key_sets,
            published: Cache::new(MAX_CACHED_SETS),
        }
    }

    /// Returns true if the assertion proves that it comes from `client`. Each assertion is accepted
    /// once.
    pub(super) async fn verify(
        &self,
        client: &Credential,
        assertion: &UnverifiedToken<'_>,
        now: Timestamp,
    ) -> Result<bool, OAuthError> {
        let claims = self.signed_claims(client, assertion).await?;
        let Some((id, ends_at)) = claims.and_then(|claims| self.accepted(client, &claims, now))
        else {
            return Ok(false);
        };
        // Without the entry, the assertion would be accepted again until this time.
        Ok(self.tokens.use_assertion(&id, ends_at + LEEWAY).await?)
    }

    async fn signed_claims(
        &self,
        client: &Credential,
        assertion: &UnverifiedToken<'_>,
    ) -> Result<Option<Claims>, KeysUnavailable> {
        let allowed = SignatureAlgorithm::ALL;
        match &client.proof {
            Proof::Secret(_) => Ok(None),
            Proof::Keys(PublicKeys::Set(set)) => {
                let keys = VerifyingKeys::from_jwk_set(set, KeyBounds::TENANT);
                match keys.map(|keys| keys.check_signature(assertion, allowed)) {
                    Some(SignatureCheck::Valid(claims)) => Ok(Some(claims)),
                    Some(SignatureCheck::Invalid | SignatureCheck::UnknownKey) | None => Ok(None),
                }
            }
            Proof::Keys(PublicKeys::At(url)) => {
                self.published_at(url).verify(assertion, allowed).await
            }
        }
    }

    /// The key set at a URL. Concurrent callers share one set.
    fn published_at(&self, url: &str) -> KeySet {
        let make = || {
            let location = KeyLocation::Url(url.to_owned());
            Ok::<_, Infallible>(self.key_sets.at(location, UrlTrust::Tenant))
        };
        let Ok(set) = self.published.get_or_insert_with(url, make);
        let bytes = self.published.len() * SET_BYTES;
        weight::report("client_key_sets", bytes as u64);
        set
    }

    /// Returns the digest that identifies the assertion in the store, and the end of the assertion.
    /// Returns `None` if the assertion is not from this client, is not for this service, or is not
    /// valid now.
    fn accepted(
        &self,
        client: &Credential,
        claims: &Claims,
        now: Timestamp,
    ) -> Option<(SecretDigest, Timestamp)> {
        let own = Some(client.id.as_str());
        let is_own = claims.text("iss") == own && claims.text("sub") == own;
        // A recipient of an assertion with several audiences could replay it here.
        if !is_own || claims.audiences() != [&*self.issuer] {
            return None;
        }
        let ends_at = claims.check_time(now).ok()?;
        let id = claims.text("jti")?;
        let is_short = ends_at <= now + MAX_LIFETIME + LEEWAY;
        if !is_short || !(1..=MAX_ID_CHARACTERS).contains(&id.chars().count()) {
            return None;
        }
        let digest = Sha256::digest(format!("{}:{id}", client.id));
        Some((SecretDigest::new(digest.into()), ends_at))
    }
}
