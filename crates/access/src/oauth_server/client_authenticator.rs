//! Authentication of OAuth clients, by a secret or by a signed assertion.

use std::{fmt, sync::Arc};

use domain::{Credential, CredentialId, CredentialKind, CredentialSecret, Timestamp};
use ports::{Clock, CredentialRepository};

use super::{ClientAssertions, OAuthError};
use crate::{LastUseRecorder, jwt::UnverifiedToken};

/// The only supported type of client assertion (RFC 7523).
const ASSERTION_TYPE: &str = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";

/// The client credentials in a request. `Debug` hides them.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct ClientCredentials {
    /// The id and the secret from `Authorization: Basic`, form-decoded.
    pub basic: Option<(String, String)>,
    /// The parameter `client_id`.
    pub client_id: Option<String>,
    /// The parameter `client_secret`.
    pub client_secret: Option<String>,
    /// The parameter `client_assertion_type`.
    pub assertion_type: Option<String>,
    /// The parameter `client_assertion`.
    pub assertion: Option<String>,
}

impl fmt::Debug for ClientCredentials {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("ClientCredentials")
            .finish_non_exhaustive()
    }
}

/// The method by which a client authenticates.
enum Method<'a> {
    Secret { id: &'a str, secret: &'a str },
    Assertion(&'a str),
}

impl ClientCredentials {
    /// Returns the method of the request. Two methods at once are an invalid request; no method is
    /// an authentication failure.
    fn method(&self) -> Result<Method<'_>, OAuthError> {
        let client_id = self.client_id.as_deref();
        let is_asserted = self.assertion.is_some() || self.assertion_type.is_some();
        match (&self.basic, &self.client_secret, is_asserted) {
            (Some((id, secret)), None, false) => {
                if client_id.is_some_and(|other| other != id) {
                    return Err(OAuthError::InvalidRequest(
                        "two different clients are named",
                    ));
                }
                Ok(Method::Secret { id, secret })
            }
            (None, Some(secret), false) => {
                let id = client_id.ok_or(OAuthError::InvalidRequest("client_id is missing"))?;
                Ok(Method::Secret { id, secret })
            }
            (None, None, true) => self.asserted(),
            (None, None, false) => Err(OAuthError::InvalidClient),
            _ => Err(OAuthError::InvalidRequest(
                "the client authenticates by more than one method",
            )),
        }
    }

    fn asserted(&self) -> Result<Method<'_>, OAuthError> {
        match (&self.assertion, self.assertion_type.as_deref()) {
            (Some(assertion), Some(ASSERTION_TYPE)) => Ok(Method::Assertion(assertion)),
            (_, None) => Err(OAuthError::InvalidRequest(
                "client_assertion_type is missing",
            )),
            (None, _) => Err(OAuthError::InvalidRequest("client_assertion is missing")),
            (Some(_), Some(_)) => Err(OAuthError::InvalidClient),
        }
    }
}

/// Authenticates OAuth clients.
pub struct ClientAuthenticator {
    credentials: Arc<dyn CredentialRepository>,
    assertions: ClientAssertions,
    clock: Arc<dyn Clock>,
    last_used: Arc<LastUseRecorder>,
}

impl ClientAuthenticator {
    /// Creates the authentication for the clients in a store.
    pub fn new(
        credentials: Arc<dyn CredentialRepository>,
        assertions: ClientAssertions,
        clock: Arc<dyn Clock>,
        last_used: Arc<LastUseRecorder>,
    ) -> Self {
        Self {
            credentials,
            assertions,
            clock,
            last_used,
        }
    }

    /// Returns the client that sends the request. The error does not reveal which credential check
    /// failed.
    pub(super) async fn authenticate(
        &self,
        credentials: &ClientCredentials,
    ) -> Result<Credential, OAuthError> {
        let now = self.clock.now();
        let client = match credentials.method()? {
            Method::Secret { id, secret } => self.by_secret(id, secret, now).await?,
            Method::Assertion(assertion) => {
                let client = self.by_assertion(assertion, now).await?;
                let named = credentials.client_id.as_deref();
                client.filter(|client| named.is_none_or(|named| named == client.id.as_str()))
            }
        };
        let client = client.ok_or(OAuthError::InvalidClient)?;
        self.last_used.record(&client.id, now);
        Ok(client)
    }

    async fn by_secret(
        &self,
        id: &str,
        secret: &str,
        now: Timestamp,
    ) -> Result<Option<Credential>, OAuthError> {
        let Ok(secret) = CredentialSecret::parse(CredentialKind::Client, secret) else {
            return Ok(None);
        };
        if secret.id().as_str() != id {
            return Ok(None);
        }
        let client = self.find(&secret.id()).await?;
        Ok(client.filter(|client| client.verify(&secret.digest(), now).is_some()))
    }

    async fn by_assertion(
        &self,
        assertion: &str,
        now: Timestamp,
    ) -> Result<Option<Credential>, OAuthError> {
        let Some(assertion) = UnverifiedToken::parse(assertion) else {
            return Ok(None);
        };
        let named: Option<CredentialId> = assertion.issuer().and_then(|id| id.parse().ok());
        let Some(id) = named else {
            return Ok(None);
        };
        let found = self.find(&id).await?;
        let Some(client) = found.filter(|client| client.is_alive(now)) else {
            return Ok(None);
        };
        let is_genuine = self.assertions.verify(&client, &assertion, now).await?;
        Ok(is_genuine.then_some(client))
    }

    async fn find(&self, id: &CredentialId) -> Result<Option<Credential>, OAuthError> {
        Ok(self.credentials.find(CredentialKind::Client, id).await?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Client credentials with the listed parts, separated by spaces.
    fn credentials(parts: &str) -> ClientCredentials {
        let mut credentials = ClientCredentials::default();
        for part in parts.split_whitespace() {
            let (field, value) = match part {
                "basic" => {
                    credentials.basic = Some(("a".to_owned(), "b".to_owned()));
                    continue;
                }
                "id" => (&mut credentials.client_id, "a"),
                "other-id" => (&mut credentials.client_id, "z"),
                "secret" => (&mut credentials.client_secret, "b"),
                "assertion" => (&mut credentials.assertion, "c"),
                "type" => (&mut credentials.assertion_type, ASSERTION_TYPE),
                "other-type" => (&mut credentials.assertion_type, "saml2-bearer"),
                other => panic!("unknown part {other}"),
            };
            *field = Some(value.to_owned());
        }
        credentials
    }

    #[test]
    fn a_client_authenticates_by_exactly_one_method() {
        for parts in [
            "basic",
            "basic id",
            "id secret",
            "assertion type",
            "assertion type id",
        ] {
            assert!(credentials(parts).method().is_ok(), "{parts}");
        }
        for parts in [
            "basic secret",
            "basic id secret",
            "basic assertion",
            "basic type",
            "basic other-id",
            "secret",
            "id secret assertion",
            "id secret type",
            "assertion",
            "type",
        ] {
            let credentials = credentials(parts);
            let is_malformed = matches!(credentials.method(), Err(OAuthError::InvalidRequest(_)));
            assert!(is_malformed, "{parts}");
        }
        for parts in ["", "id", "assertion other-type"] {
            let credentials = credentials(parts);
            let is_rejected = matches!(credentials.method(), Err(OAuthError::InvalidClient));
            assert!(is_rejected, "{parts}");
        }
    }

    #[test]
    fn debug_hides_the_credentials() {
        let shown = format!("{:?}", credentials("basic"));
        assert_eq!(shown, "ClientCredentials { .. }");
    }
}
