//! Tickets: in place of a credential where none can be sent, as when a page opens a socket.

use std::sync::Arc;

use domain::{Fault, FaultCode, Principal, Scope, Scopes, Ticket, TicketText, ticket};
use ports::{IdSource, RepositoryError, TicketRepository};

use super::{AccessError, AuthContext, Authenticator, CredentialStatus};

/// Why no ticket was handed out.
#[derive(Debug, thiserror::Error)]
pub enum TicketError {
    /// It would allow what the caller may not: these scopes.
    #[error("the caller lacks the scopes {0:?}")]
    Exceeds(Scopes),
    /// What was asked for is not valid.
    #[error("the ticket would open nothing")]
    Invalid(Vec<Fault>),
    /// The store failed.
    #[error("the store failed")]
    Store(#[from] RepositoryError),
}

/// A ticket right after it was made: the only moment in which it exists in the clear.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IssuedTicket {
    /// The ticket.
    pub text: TicketText,
    /// Whole seconds until it ends.
    pub expires_in: u64,
}

/// Hands tickets out and takes them in.
pub struct Tickets {
    repository: Arc<dyn TicketRepository>,
    authenticator: Arc<Authenticator>,
    ids: Arc<dyn IdSource>,
}

impl Tickets {
    /// Tickets in a store, for whom this authenticator lets in.
    pub fn new(
        repository: Arc<dyn TicketRepository>,
        authenticator: Arc<Authenticator>,
        ids: Arc<dyn IdSource>,
    ) -> Self {
        Self {
            repository,
            authenticator,
            ids,
        }
    }

    /// Hands a ticket out that lets the caller in once more, to these of its scopes or to all of
    /// them. A ticket that a page has fetched is good for pages of its origin alone.
    pub async fn issue(
        &self,
        caller: &AuthContext,
        scopes: Option<Scopes>,
        origin: Option<&str>,
    ) -> Result<IssuedTicket, TicketError> {
        let scopes = scopes.unwrap_or(caller.principal.scopes);
        check(&caller.principal, scopes)?;
        let mut random = [0; 32];
        self.ids.fill_random(&mut random);
        let text = TicketText::mint(&random);
        let ticket = Ticket {
            principal: Principal {
                scopes,
                ..caller.principal.clone()
            },
            credential: caller.credential.clone(),
            allowed_origins: caller.allowed_origins.clone(),
            limits: caller.limits,
            standing: caller.standing.clone(),
            credential_ends_at: caller.ends_at,
            origin: origin.map(ToOwned::to_owned),
        };
        let (digest, life) = (text.digest(), ticket::LIFE);
        self.repository.insert(&digest, &ticket, life).await?;
        Ok(IssuedTicket {
            text,
            expires_in: ticket::LIFE.as_secs(),
        })
    }

    /// Uses a ticket up, which a page of this origin has sent, or no page: lets in who fetched it,
    /// as long as the credential stands that it was fetched with. Whoever is not let in leaves the
    /// ticket as it was.
    pub async fn redeem(
        &self,
        text: &str,
        origin: Option<&str>,
    ) -> Result<Arc<AuthContext>, AccessError> {
        let invalid = || AccessError::InvalidTicket;
        let text = TicketText::parse(text).map_err(|_malformed| invalid())?;
        let digest = text.digest();
        // Who only guesses writes nothing, and who may not use a ticket leaves it to who may.
        let ticket = self.repository.find(&digest).await?;
        let ticket = ticket.ok_or_else(invalid)?;
        if ticket.origin.is_some() && ticket.origin.as_deref() != origin {
            return Err(invalid());
        }
        let entrant = AuthContext::from(ticket);
        let ends_at = match self.authenticator.look_again(&entrant).await? {
            CredentialStatus::Stands { ends_at } => ends_at,
            CredentialStatus::Revoked | CredentialStatus::Ended => return Err(invalid()),
        };
        let redeemed = self.repository.redeem(&digest).await?;
        redeemed.ok_or_else(invalid)?;
        Ok(Arc::new(AuthContext { ends_at, ..entrant }))
    }
}

/// Refuses a ticket that would open no socket, and one that would allow more than its caller may.
fn check(caller: &Principal, scopes: Scopes) -> Result<(), TicketError> {
    if !scopes.contains(Scope::EventsRead) {
        let detail = format!(
            "must contain {}, without which it opens no socket",
            Scope::EventsRead
        );
        let fault = Fault::new("/scopes", FaultCode::Required, detail);
        return Err(TicketError::Invalid(vec![fault]));
    }
    match scopes.without(caller.scopes) {
        Scopes::NONE => Ok(()),
        missing => Err(TicketError::Exceeds(missing)),
    }
}

impl From<Ticket> for AuthContext {
    fn from(ticket: Ticket) -> Self {
        Self {
            principal: ticket.principal,
            credential: ticket.credential,
            standing: ticket.standing,
            allowed_origins: ticket.allowed_origins,
            limits: ticket.limits,
            ends_at: ticket.credential_ends_at,
        }
    }
}
