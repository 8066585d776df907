//! Tokens for users without an identity provider.

use std::{sync::Arc, time::Duration};

use domain::{
    AgentReach, Credential, CredentialKind, CredentialSource, FaultCode, InputFault, Principal,
    Scope, Scopes, allowed_origin,
    credential_draft::{check_agents, check_origins, check_reach},
    fault::push_index,
};
use ports::{Clock, CredentialRepository, RepositoryError, TokenRepository};

use crate::{AuthContext, Authenticator, signing_keys::SigningKeyError, tokens::IssuedToken};

/// The maximum lifetime of a user token, in seconds.
pub const MAX_LIFETIME_SECONDS: u32 = 86_400;
/// The lifetime of a user token, in seconds, unless the request contains one.
pub const DEFAULT_LIFETIME_SECONDS: u32 = 3_600;
/// The maximum number of origins of a user token, which must fit into a header.
pub const MAX_ALLOWED_ORIGINS: usize = 8;

/// The reason why no token was issued or withdrawn.
#[derive(Debug, thiserror::Error)]
pub enum UserTokenError {
    /// The caller lacks these scopes.
    #[error("the caller lacks the scopes {0:?}")]
    MissingScopes(Scopes),
    /// The tokens to withdraw belong to no valid user id.
    #[error("the user id is not valid")]
    InvalidUserId(InputFault),
    /// The request is not valid.
    #[error("the request for a token is not valid")]
    Invalid(Vec<InputFault>),
    /// The credential of the caller was revoked or has expired meanwhile.
    #[error("the credential of the caller has ended")]
    CredentialEnded,
    /// The service cannot sign a token.
    #[error("no token can be signed")]
    SigningKeys(#[from] SigningKeyError),
    /// The store failed.
    #[error("the store failed")]
    Store(#[from] RepositoryError),
}

/// A request for a token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserTokenRequest {
    /// The id of the user.
    pub user_id: String,
    /// The scopes; `None` for the default ones.
    pub scopes: Option<Scopes>,
    /// The lifetime in seconds.
    pub expires_in: u32,
    /// The only browser origins that may use the token; empty for those of the caller.
    pub allowed_origins: Vec<String>,
    /// The agents that the token can reach, among those of the caller.
    pub agents: AgentReach,
}

/// Issues tokens to users and withdraws them.
pub struct UserTokens {
    authenticator: Arc<Authenticator>,
    credentials: Arc<dyn CredentialRepository>,
    tokens: Arc<dyn TokenRepository>,
    clock: Arc<dyn Clock>,
}

impl UserTokens {
    /// Creates the use cases over these ports. `authenticator` verifies the tokens.
    pub fn new(
        authenticator: Arc<Authenticator>,
        credentials: Arc<dyn CredentialRepository>,
        tokens: Arc<dyn TokenRepository>,
        clock: Arc<dyn Clock>,
    ) -> Self {
        Self {
            authenticator,
            credentials,
            tokens,
            clock,
        }
    }

    /// Issues a token to a user. It ends with the credential of the caller, whose scopes limit its
    /// own.
    pub async fn issue(
        &self,
        caller: &AuthContext,
        request: UserTokenRequest,
    ) -> Result<IssuedToken, UserTokenError> {
        let held = &caller.principal.scopes;
        let default = Scopes::default_of_user_tokens().intersection(held);
        let scopes = request.scopes.clone().unwrap_or(default);
        let issuer = self.issuer(caller).await?;
        let mut faults = self.check(&request, &scopes, &issuer);
        faults.extend(check_agents(&request.agents, &scopes));
        faults.extend(check_reach(&caller.principal.agents, &request.agents));
        if !faults.is_empty() {
            return Err(UserTokenError::Invalid(faults));
        }
        if !held.includes(&scopes) {
            return Err(UserTokenError::MissingScopes(scopes.without(held)));
        }
        let lifetime = Duration::from_secs(request.expires_in.into());
        let UserTokenRequest {
            user_id,
            allowed_origins,
            agents,
            ..
        } = request;
        let tokens = self.authenticator.own_tokens();
        let token =
            tokens.issue_to_user(&issuer, &user_id, allowed_origins, agents, scopes, lifetime);
        token.await?.ok_or(UserTokenError::CredentialEnded)
    }

    /// Withdraws all tokens of a user: every process rejects them within one second. A caller that reaches only
    /// some agents cannot, because the tokens may reach others.
    pub async fn withdraw(&self, caller: &Principal, user_id: &str) -> Result<(), UserTokenError> {
        check_reaches_all(caller)?;
        if let Some(fault) = self.check_user_id(user_id) {
            return Err(UserTokenError::InvalidUserId(fault));
        }
        self.withdraw_own(caller, user_id).await
    }

    /// Withdraws all tokens that this service has issued to a user who is to be erased. An identity provider has
    /// its own users.
    pub async fn withdraw_of_erased(
        &self,
        caller: &Principal,
        user_id: &str,
    ) -> Result<(), UserTokenError> {
        check_reaches_all(caller)?;
        let reserved = self.authenticator.own_tokens().reserved_user_ids();
        if reserved.contains(user_id) {
            return Ok(());
        }
        self.withdraw_own(caller, user_id).await
    }

    async fn withdraw_own(&self, caller: &Principal, user_id: &str) -> Result<(), UserTokenError> {
        let tenant = &caller.tenant;
        self.tokens.withdraw_user_tokens(tenant, user_id).await?;
        self.authenticator.refresh_after_change().await;
        Ok(())
    }

    /// Returns the key or client of the caller.
    async fn issuer(&self, caller: &AuthContext) -> Result<Credential, UserTokenError> {
        let (kind, id) = match &*caller.source {
            CredentialSource::Key { id, .. } => (CredentialKind::Key, id),
            CredentialSource::OwnToken { client, .. } => (CredentialKind::Client, client),
            // Neither ever has the scope.
            CredentialSource::UserToken { .. } | CredentialSource::ExternalToken => {
                let missing = [Scope::UserTokensIssue].into_iter().collect();
                return Err(UserTokenError::MissingScopes(missing));
            }
        };
        let found = self.credentials.find(kind, id).await?;
        found
            .filter(|issuer| issuer.is_alive(self.clock.now()))
            .ok_or(UserTokenError::CredentialEnded)
    }

    fn check(
        &self,
        request: &UserTokenRequest,
        scopes: &Scopes,
        issuer: &Credential,
    ) -> Vec<InputFault> {
        let mut faults: Vec<_> = self.check_user_id(&request.user_id).into_iter().collect();
        if !Scopes::of_user_tokens().includes(scopes) {
            let detail = format!("at most {}", Scopes::of_user_tokens().joined(", "));
            faults.push(InputFault::new("/scopes", FaultCode::UnknownValue, detail));
        }
        if *scopes == Scopes::NONE {
            let detail = format!(
                "at least one: the caller has none of the default scopes, which are {}",
                Scopes::default_of_user_tokens().joined(", ")
            );
            faults.push(InputFault::new("/scopes", FaultCode::TooShort, detail));
        }
        if !(1..=MAX_LIFETIME_SECONDS).contains(&request.expires_in) {
            let detail = format!("1 to {MAX_LIFETIME_SECONDS}");
            faults.push(InputFault::new("/expiresIn", FaultCode::TooLarge, detail));
        }
        faults.extend(check_origins(&request.allowed_origins, MAX_ALLOWED_ORIGINS));
        if !issuer.allowed_origins.is_empty() {
            for (index, origin) in request.allowed_origins.iter().enumerate() {
                let mut allowed = issuer.allowed_origins.iter();
                if !allowed.any(|entry| entry == origin || allowed_origin::allows(entry, origin)) {
                    let mut pointer = String::from("/allowedOrigins");
                    push_index(&mut pointer, index);
                    let detail = "must be allowed by the `allowedOrigins` of the key";
                    faults.push(InputFault::new(pointer, FaultCode::UnknownValue, detail));
                }
            }
        }
        faults
    }

    fn check_user_id(&self, user_id: &str) -> Option<InputFault> {
        let (code, detail) = if user_id.is_empty() {
            (FaultCode::TooShort, "at least 1 character")
        } else if user_id.contains(char::is_control) {
            (
                FaultCode::BadCharacter,
                "must not contain control characters",
            )
        } else if self
            .authenticator
            .own_tokens()
            .reserved_user_ids()
            .contains(user_id)
        {
            let detail = "must not have the form of the user ids of an identity provider";
            (FaultCode::UnknownValue, detail)
        } else {
            return None;
        };
        Some(InputFault::new("/userId", code, detail))
    }
}

/// Checks that the caller reaches all agents.
fn check_reaches_all(caller: &Principal) -> Result<(), UserTokenError> {
    if caller.agents.is_all() {
        return Ok(());
    }
    let detail = "the tokens of a user may reach more agents than this credential";
    let fault = InputFault::new("/userId", FaultCode::NotCombinable, detail);
    Err(UserTokenError::InvalidUserId(fault))
}
