//! A credential that issues tokens for users.

use std::sync::Arc;

use access::{AuthContext, UserTokenError, UserTokenRequest, UserTokens, tokens::IssuedToken};
use domain::{
    Credential, CredentialKind, CredentialSource, Principal, Scope, Scopes, SecretDigest,
};

use crate::{
    fixture::{Fixture, START},
    node::Node,
};

pub(super) const NOW: i64 = START.milliseconds() / 1_000;
pub(super) const DAY: u32 = 86_400;

/// A process, and a credential that may issue user tokens there.
pub(super) struct Backend {
    pub(super) node: Node,
    pub(super) users: UserTokens,
    pub(super) issuer: Credential,
    pub(super) caller: AuthContext,
}

pub(super) fn scopes(scopes: &[Scope]) -> Scopes {
    scopes.iter().copied().collect()
}

pub(super) fn request(user_id: &str) -> UserTokenRequest {
    UserTokenRequest {
        user_id: user_id.to_owned(),
        scopes: None,
        expires_in: 3_600,
        allowed_origins: Vec::new(),
        agents: domain::AgentReach::ALL,
    }
}

pub(super) fn pointers(result: Result<IssuedToken, UserTokenError>) -> Vec<String> {
    match result {
        Err(UserTokenError::Invalid(faults)) => {
            faults.into_iter().map(|fault| fault.pointer).collect()
        }
        other => panic!("{other:?}"),
    }
}

impl Backend {
    pub(super) async fn start(fixture: &Fixture, change: impl FnOnce(&mut Credential)) -> Self {
        let (issuer, _) = fixture
            .client(|client| {
                client.kind = CredentialKind::Key;
                client.scopes = Scopes::all();
                change(client);
            })
            .await;
        Self::over(fixture, issuer).await
    }

    /// Another process with the same store and credential.
    pub(super) async fn over(fixture: &Fixture, issuer: Credential) -> Self {
        let node = Node::start(fixture).await;
        node.authenticator.refresh().await.expect("a store");
        let users = UserTokens::new(
            Arc::clone(&node.authenticator),
            Arc::clone(&fixture.storage.credentials),
            Arc::clone(&fixture.storage.tokens),
            fixture.clock.clone(),
        );
        let id = issuer.id.clone();
        let caller = AuthContext {
            principal: Principal {
                id: issuer.principal(),
                tenant: issuer.tenant.clone(),
                scopes: issuer.scopes.clone(),
                user_id: None,
                agents: domain::AgentReach::ALL,
                names_user: false,
            },
            credential: Some(id.clone()),
            source: Arc::new(match issuer.kind {
                CredentialKind::Key => CredentialSource::Key {
                    id,
                    digest: SecretDigest::new([7; 32]),
                },
                CredentialKind::Client => CredentialSource::OwnToken {
                    id: uuid::Uuid::nil(),
                    client: id,
                    signing_key: String::new(),
                },
            }),
            allowed_origins: issuer.allowed_origins.clone(),
            limits: issuer.limits.clone(),
            ends_at: None,
        };
        Self {
            node,
            users,
            issuer,
            caller,
        }
    }

    pub(super) async fn issue(
        &self,
        request: UserTokenRequest,
    ) -> Result<IssuedToken, UserTokenError> {
        self.users.issue(&self.caller, request).await
    }

    pub(super) async fn token(&self, user_id: &str) -> String {
        self.issue(request(user_id)).await.expect("a token").text
    }

    pub(super) async fn withdraw(&self, user_id: &str) {
        let principal = &self.caller.principal;
        self.users
            .withdraw(principal, user_id)
            .await
            .expect("valid");
    }
}
