//! One process with an authorization server.

use std::{sync::Arc, time::Duration};

use access::{
    AccessError, AuthContext, Authenticator, LastUsed,
    jwt::UnverifiedToken,
    server::{
        Assertions, AuthorizationServer, ClientAuthentication, ClientCredentials, EncryptionKey,
        IssuedToken, OAuthError, OwnTokens, SigningKeyError, SigningKeys, TokenRequest,
    },
    tokens::{AccessTokens, Issuers, KeySets},
};
use domain::{Credential, CredentialSecret};
use ports::{Clock, SigningKeyRepository};
use tokio::runtime::Handle;
use tokio_util::task::TaskTracker;

use crate::{allowance::Allowance, world::World};

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
    pub(crate) last_used: Arc<LastUsed>,
    /// The rate limiter for clients of the authorization server.
    pub(crate) allowance: Arc<Allowance>,
}

impl Node {
    /// Starts a process.
    pub(crate) async fn start(world: &World) -> Self {
        let node = Self::new(world, None);
        node.keys.prepare().await.expect("keys that can be read");
        node
    }

    /// Starts a process with this encryption key. Returns an error if the keys cannot be read.
    pub(crate) async fn start_with(
        world: &World,
        key: Option<u8>,
    ) -> Result<Self, SigningKeyError> {
        let node = Self::new(world, key);
        node.keys.prepare().await?;
        Ok(node)
    }

    /// A process that has not read any key yet.
    pub(crate) fn new(world: &World, key: Option<u8>) -> Self {
        let repository = Arc::clone(&world.storage.signing_keys);
        Self::over(world, key, repository, world.clock.clone())
    }

    /// A process with another repository of signing keys, or another clock.
    pub(crate) fn over(
        world: &World,
        key: Option<u8>,
        repository: Arc<dyn SigningKeyRepository>,
        clock: Arc<dyn Clock>,
    ) -> Self {
        let storage = &world.storage;
        let encryption = key.map(encryption_key);
        let keys = SigningKeys::new(
            repository,
            Arc::clone(&clock),
            world.ids.clone(),
            encryption,
            MAXIMUM_AGE,
        );
        let keys = Arc::new(keys);
        let tokens = Arc::new(OwnTokens::new(
            ISSUER.to_owned(),
            Arc::clone(&keys),
            Arc::clone(&storage.credentials),
            Arc::clone(&storage.tokens),
            Arc::clone(&clock),
            world.ids.clone(),
        ));
        let last_used = Arc::new(LastUsed::new(Arc::clone(&storage.credentials)));
        let key_sets = key_sets(world);
        let clients = ClientAuthentication::new(
            Arc::clone(&storage.credentials),
            Assertions::new(ISSUER.to_owned(), Arc::clone(&storage.tokens), key_sets),
            Arc::clone(&clock),
            Arc::clone(&last_used),
        );
        let authenticator = authenticator(world, &tokens, &last_used);
        let (allowance, limits) = Allowance::limits(Arc::clone(&clock));
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
            allowance,
        }
    }

    /// Requests a token with all scopes of the client.
    pub(crate) async fn token(&self, secret: &CredentialSecret) -> String {
        let issued = self.ask(&basic(secret), |_| {}).await;
        issued.expect("a token").text
    }

    /// Sends a valid request, changed by `change`, to the token endpoint.
    pub(crate) async fn ask(
        &self,
        shown: &ClientCredentials,
        change: impl FnOnce(&mut TokenRequest),
    ) -> Result<IssuedToken, OAuthError> {
        let mut request = TokenRequest {
            grant_type: Some("client_credentials".to_owned()),
            ..TokenRequest::default()
        };
        change(&mut request);
        self.server.token(shown, &request).await
    }

    /// Verifies a token.
    pub(crate) async fn enter(&self, token: &str) -> Result<AuthContext, AccessError> {
        let token = UnverifiedToken::read(token).ok_or(AccessError::Invalid)?;
        self.tokens.verify(&token).await
    }

    /// Returns whether a token is accepted.
    pub(crate) async fn lets_in(&self, token: &str) -> bool {
        match self.enter(token).await {
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

/// An authenticator for credentials and tokens of this service, without external issuers.
fn authenticator(
    world: &World,
    own: &Arc<OwnTokens>,
    last_used: &Arc<LastUsed>,
) -> Arc<Authenticator> {
    let clock: Arc<dyn Clock> = world.clock.clone();
    let tenants = Arc::clone(&world.storage.tenants);
    let foreign = Issuers::new(Vec::new(), &key_sets(world), tenants, Arc::clone(&clock));
    Arc::new(Authenticator::new(
        Arc::clone(&world.storage.credentials),
        Arc::new(AccessTokens::new(Arc::clone(own), foreign)),
        clock,
        Arc::clone(last_used),
    ))
}

fn key_sets(world: &World) -> KeySets {
    let clock = world.clock.clone();
    KeySets::new(
        world.web.clone(),
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
