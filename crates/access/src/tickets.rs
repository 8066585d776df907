//! Tickets: short-lived, single-use replacements for a credential where a client cannot send one,
//! such as a socket that a web page opens.

use std::sync::Arc;

use domain::{CallerClaims, FaultCode, InputFault, Principal, Scope, Scopes, TicketText, ticket};
use ports::{IdSource, RepositoryError, TicketRepository};

use crate::{AccessError, AuthContext, Authenticator, HomeAuthority};

/// The reason why no ticket was issued.
#[derive(Debug, thiserror::Error)]
pub enum TicketError {
    /// The ticket would grant these scopes, which the caller lacks.
    #[error("the caller lacks the scopes {0:?}")]
    MissingScopes(Scopes),
    /// The request is not valid.
    #[error("the request for a ticket is not valid")]
    Invalid(Vec<InputFault>),
    /// The store failed.
    #[error("the store failed")]
    Store(#[from] RepositoryError),
}

/// A newly issued ticket. Only now it exists in plain text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IssuedTicket {
    /// The ticket.
    pub text: TicketText,
    /// The lifetime of the ticket, in whole seconds.
    pub expires_in: u64,
}

/// Issues and redeems tickets.
pub struct Tickets {
    repository: Arc<dyn TicketRepository>,
    authenticator: Arc<Authenticator>,
    ids: Arc<dyn IdSource>,
    /// The home region, in a far region.
    home: Option<Arc<HomeAuthority>>,
}

impl Tickets {
    /// Creates the tickets of a store. `authenticator` checks the credentials behind them.
    pub fn new(
        repository: Arc<dyn TicketRepository>,
        authenticator: Arc<Authenticator>,
        ids: Arc<dyn IdSource>,
    ) -> Self {
        Self {
            repository,
            authenticator,
            ids,
            home: None,
        }
    }

    /// Redeems tickets at home, because a replica cannot use them up.
    #[must_use]
    pub fn with_home(self, home: Option<Arc<HomeAuthority>>) -> Self {
        Self { home, ..self }
    }

    /// Issues a ticket that authenticates the caller once, with these of its scopes or with all of
    /// them. With an `origin`, only pages of this origin can redeem the ticket.
    pub async fn issue(
        &self,
        caller: &AuthContext,
        scopes: Option<Scopes>,
        origin: Option<&str>,
    ) -> Result<IssuedTicket, TicketError> {
        let scopes = scopes.unwrap_or_else(|| caller.principal.scopes.clone());
        check(&caller.principal, &scopes)?;
        let mut random = [0; 32];
        self.ids.fill_random(&mut random);
        let text = TicketText::mint(&random);
        let claims = CallerClaims {
            principal: Principal {
                scopes,
                ..caller.principal.clone()
            },
            origin: origin.map(ToOwned::to_owned),
            ..caller.to_claims()
        };
        let (digest, life) = (text.digest(), ticket::LIFE);
        self.repository.insert(&digest, &claims, life).await?;
        Ok(IssuedTicket {
            text,
            expires_in: ticket::LIFE.as_secs(),
        })
    }

    /// Redeems a ticket, sent by a page of this origin or by a client without an origin. Returns
    /// the access of the caller that fetched it, if the credential of that caller is still valid. A
    /// failed attempt does not use up the ticket.
    pub async fn redeem(
        &self,
        text: &str,
        origin: Option<&str>,
    ) -> Result<Arc<AuthContext>, AccessError> {
        let invalid = || AccessError::InvalidTicket;
        let text = TicketText::parse(text).map_err(|_malformed| invalid())?;
        if let Some(home) = &self.home {
            return home.redeem(text.reveal(), origin).await.map(Arc::new);
        }
        let digest = text.digest();
        // Read first: a guessed ticket must cause no write, and a client that may not use a ticket
        // must not use it up.
        let claims = self.repository.find(&digest).await?;
        let claims = claims.ok_or_else(invalid)?;
        if claims.origin.is_some() && claims.origin.as_deref() != origin {
            return Err(invalid());
        }
        let checked = self.authenticator.check_caller(claims.into()).await;
        let auth_context = checked.map_err(|error| match error {
            AccessError::Invalid | AccessError::Expired => invalid(),
            other => other,
        })?;
        let redeemed = self.repository.redeem(&digest).await?;
        redeemed.ok_or_else(invalid)?;
        Ok(Arc::new(auth_context))
    }
}

/// Rejects a ticket that cannot open a socket, and one with more scopes than its caller has.
fn check(caller: &Principal, scopes: &Scopes) -> Result<(), TicketError> {
    if !scopes.contains(Scope::EventsRead) {
        let detail = format!(
            "must contain {}, which every socket requires",
            Scope::EventsRead
        );
        let fault = InputFault::new("/scopes", FaultCode::Required, detail);
        return Err(TicketError::Invalid(vec![fault]));
    }
    let missing = scopes.without(&caller.scopes);
    if missing == Scopes::NONE {
        return Ok(());
    }
    Err(TicketError::MissingScopes(missing))
}

impl From<CallerClaims> for AuthContext {
    fn from(claims: CallerClaims) -> Self {
        Self {
            principal: claims.principal,
            credential: claims.credential,
            source: Arc::new(claims.source),
            allowed_origins: claims.allowed_origins,
            limits: claims.limits,
            ends_at: claims.credential_ends_at,
        }
    }
}
