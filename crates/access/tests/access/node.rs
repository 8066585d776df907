//! One process with an authorization server.

use std::{sync::Arc, time::Duration};

use access::{
    AccessError, AuthContext, Authenticator, LastUseRecorder,
    jwt::UnverifiedToken,
    oauth_server::{
        AuthorizationServer, ClientAssertions, ClientAuthenticator, ClientCredentials, OAuthError,
        TokenRequest,
    },
    signing_keys::{EncryptionKey, SigningKeyError, SigningKeys},
    tokens::{AccessTokens, ExternalIssuers, IssuedToken, KeySets, OwnTokens},
};
use domain::{Credential, CredentialSecret};
use ports::{Clock, SigningKeyRepository};
use tokio::runtime::Handle;
use tokio_util::task::TaskTracker;

use crate::{fixed_limiter::FixedLimiter, fixture::Fixture};

/// The address of the service, which is also its name as an issuer.
pub(crate) const ISSUER: &str = "https://agents.example";
/// The age at which a signing key is replaced.
pub(crate) const MAXIMUM_AGE: Duration = Duration::from_hours(24 * 30);

/// One process with an authorization server.
pub(crate) struct Node {
    pub(crate) keys: Arc<SigningKeys>,
    pub(crate) tokens: Arc<OwnTokens>,
    pub(crate) authenticator: Arc<Authenticator>,
    pub(crate) server: AuthorizationServer,
    pub(crate) last_used: Arc<LastUseRecorder>,
    /// The rate limiter for clients of the authorization server.
    pub(crate) limiter: Arc<FixedLimiter>,
}

impl Node {
    /// Starts a process.
    pub(crate) async fn start(fixture: &Fixture) -> Self {
        let node = Self::new(fixture, None);
        node.keys.prepare().await.expect("keys that can be read");
        node
    }

    /// Starts a process with this encryption key. Returns an error if the keys cannot be read.
    pub(crate) async fn start_with(
        fixture: &Fixture,
        key: Option<u8>,
    ) -> Result<Self, SigningKeyError> {
        let node = Self::new(fixture, key);
        node.keys.prepare().await?;
        Ok(node)
    }

    /// A process that has not read any key yet.
    pub(crate) fn new(fixture: &Fixture, key: Option<u8>) -> Self {
        let repository = Arc::clone(&fixture.storage.signing_keys);
        Self::over(fixture, key, repository, fixture.clock.clone())
    }

    /// Starts a process with these external issuers, none of whose tokens it can verify.
    pub(crate) async fn reserving(fixture: &Fixture, issuers: &[&str]) -> Self {
        let mut node = Self::new(fixture, None);
        let issuers = issuers.iter().map(|id| id.parse().expect("an id"));
        let tokens = own_tokens(
            fixture,
            &node.keys,
            &(fixture.clock.clone() as Arc<dyn Clock>),
        );
        let tokens = Arc::new(tokens.reserving(issuers.collect()));
        node.authenticator = authenticator(fixture, &tokens, &node.last_used);
        node.tokens = tokens;
        node.keys.prepare().await.expect("keys that can be read");
        node
    }

    /// A process with another repository of signing keys, or another clock.
    pub(crate) fn over(
        fixture: &Fixture,
        key: Option<u8>,
        repository: Arc<dyn SigningKeyRepository>,
        clock: Arc<dyn Clock>,
    ) -> Self {
        let storage = &fixture.storage;
        let encryption = key.map(encryption_key);
        let keys = SigningKeys::new(
            repository,
            Arc::clone(&clock),
            fixture.ids.clone(),
            encryption,
            MAXIMUM_AGE,
        );
        let keys = Arc::new(keys);
        let tokens = Arc::new(own_tokens(fixture, &keys, &clock));
        let last_used = Arc::new(LastUseRecorder::new(Arc::clone(&storage.credentials)));
        let key_sets = key_sets(fixture);
        let clients = ClientAuthenticator::new(
            Arc::clone(&storage.credentials),
            ClientAssertions::new(ISSUER.to_owned(), Arc::clone(&storage.tokens), key_sets),
            Arc::clone(&clock),
            Arc::clone(&last_used),
        );
        let authenticator = authenticator(fixture, &tokens, &last_used);
        let (limiter, limits) = FixedLimiter::limits(Arc::clone(&clock));
        let server = AuthorizationServer::new(
            clients,
            Arc::clone(&tokens),
            Arc::clone(&keys),
            Arc::clone(&authenticator),
            limits,
            clock,
        );
        Self {
            keys,
            tokens,
            authenticator,
            server,
            last_used,
            limiter,
        }
    }

    /// Requests a token with all scopes of the client.
    pub(crate) async fn token(&self, secret: &CredentialSecret) -> String {
        let issued = self.request_token(&basic(secret), |_| {}).await;
        issued.expect("a token").text
    }

    /// Sends a valid request, changed by `change`, to the token endpoint.
    pub(crate) async fn request_token(
        &self,
        credentials: &ClientCredentials,
        change: impl FnOnce(&mut TokenRequest),
    ) -> Result<IssuedToken, OAuthError> {
        let mut request = TokenRequest {
            grant_type: Some("client_credentials".to_owned()),
            ..TokenRequest::default()
        };
        change(&mut request);
        self.server.token(credentials, &request).await
    }

    /// Verifies a token.
    pub(crate) async fn authenticate(&self, token: &str) -> Result<AuthContext, AccessError> {
        let token = UnverifiedToken::parse(token).ok_or(AccessError::Invalid)?;
        self.tokens.authenticate(&token).await
    }

    /// Returns whether a token is accepted.
    pub(crate) async fn accepts(&self, token: &str) -> bool {
        match self.authenticate(token).await {
            Ok(_) => true,
            Err(AccessError::Invalid) => false,
            Err(error) => panic!("{error:?}"),
        }
    }

    /// The ids of the published keys, newest first.
    pub(crate) fn published(&self) -> Vec<String> {
        let keys = self.server.published_keys();
        keys.iter()
            .map(|key| key["kid"].as_str().expect("a kid").to_owned())
            .collect()
    }
}

fn own_tokens(fixture: &Fixture, keys: &Arc<SigningKeys>, clock: &Arc<dyn Clock>) -> OwnTokens {
    OwnTokens::new(
        ISSUER.to_owned(),
        Arc::clone(keys),
        Arc::clone(&fixture.storage.credentials),
        Arc::clone(&fixture.storage.tokens),
        Arc::clone(clock),
        fixture.ids.clone(),
    )
}

/// An authenticator for credentials and tokens of this service, without external issuers.
fn authenticator(
    fixture: &Fixture,
    own: &Arc<OwnTokens>,
    last_used: &Arc<LastUseRecorder>,
) -> Arc<Authenticator> {
    let clock: Arc<dyn Clock> = fixture.clock.clone();
    let tenants = Arc::clone(&fixture.storage.tenants);
    let external =
        ExternalIssuers::new(Vec::new(), &key_sets(fixture), tenants, Arc::clone(&clock));
    Arc::new(Authenticator::new(
        Arc::clone(&fixture.storage.credentials),
        Arc::new(AccessTokens::new(Arc::clone(own), external)),
        clock,
        Arc::clone(last_used),
    ))
}

fn key_sets(fixture: &Fixture) -> KeySets {
    let clock = fixture.clock.clone();
    KeySets::new(
        fixture.web.clone(),
        clock,
        TaskTracker::new(),
        Handle::current(),
    )
}

/// A numbered encryption key.
pub(crate) fn encryption_key(number: u8) -> EncryptionKey {
    use base64::{Engine, engine::general_purpose::STANDARD};
    EncryptionKey::parse(&STANDARD.encode([number; 32])).expect("32 bytes")
}

/// The credentials of a client that sends its secret in `Authorization`.
pub(crate) fn basic(secret: &CredentialSecret) -> ClientCredentials {
    ClientCredentials {
        basic: Some((secret.id().to_string(), secret.reveal().to_owned())),
        ..ClientCredentials::default()
    }
}

/// The credentials of a client that sends its secret in the form.
pub(crate) fn post(client: &Credential, secret: &CredentialSecret) -> ClientCredentials {
    ClientCredentials {
        client_id: Some(client.id.to_string()),
        client_secret: Some(secret.reveal().to_owned()),
        ..ClientCredentials::default()
    }
}
