//! The handler's argument that opens the way to the use cases.

use std::{
    future::{Ready, ready},
    marker::PhantomData,
    ops::Deref,
    sync::Arc,
};

use actix_web::{FromRequest, HttpMessage, HttpRequest, dev::Payload, web::Data};
use application::access::Entrant;
use domain::{Principal, ProblemCode, Scope, Scopes};

use crate::{problem::ApiError, state::Services};

/// What a handler asks of its caller.
pub trait Requirement: 'static {
    /// One of these scopes; any credential will do when empty.
    const ANY_OF: &'static [Scope];
}

macro_rules! requirements {
    ($($(#[doc = $doc:literal])* $name:ident = [$($scope:ident),*];)*) => {$(
        $(#[doc = $doc])*
        #[derive(Debug, Clone, Copy)]
        pub struct $name;

        impl Requirement for $name {
            const ANY_OF: &'static [Scope] = &[$(Scope::$scope),*];
        }
    )*};
}

requirements! {
    /// Any valid credential.
    AnyCredential = [];
    /// `agents:read`.
    AgentsRead = [AgentsRead];
    /// `agents:write`.
    AgentsWrite = [AgentsWrite];
    /// `chat:write`.
    ChatWrite = [ChatWrite];
    /// `conversations:read`.
    ConversationsRead = [ConversationsRead];
    /// `conversations:write`.
    ConversationsWrite = [ConversationsWrite];
    /// `chat:write` or `conversations:read`.
    TurnsRead = [ChatWrite, ConversationsRead];
    /// `agents:read` or `conversations:read`.
    AgentEventsRead = [AgentsRead, ConversationsRead];
    /// `events:read`.
    EventsRead = [EventsRead];
    /// `metrics:read`.
    MetricsRead = [MetricsRead];
    /// `keys:admin`.
    KeysAdmin = [KeysAdmin];
}

/// The use cases under a name that only this module can say.
struct Sealed(Services);

/// App data that hands the use cases to [`Authorized`] and to nobody else.
pub fn seal(services: Services) -> SealedServices {
    SealedServices(Data::new(Sealed(services)))
}

/// See [`seal`].
#[derive(Clone)]
pub struct SealedServices(Data<Sealed>);

impl SealedServices {
    /// Opens them to an entrant that may do what `R` says.
    pub fn open<R: Requirement>(&self, entrant: Arc<Entrant>) -> Result<Authorized<R>, ApiError> {
        let held = entrant.principal.scopes;
        if !R::ANY_OF.is_empty() && !R::ANY_OF.iter().any(|scope| held.contains(*scope)) {
            return Err(lacking_each(R::ANY_OF));
        }
        Ok(Authorized {
            entrant,
            services: self.0.clone(),
            requirement: PhantomData,
        })
    }
}

/// A caller who may do what `R` says, and with that the use cases.
pub struct Authorized<R> {
    entrant: Arc<Entrant>,
    services: Data<Sealed>,
    requirement: PhantomData<R>,
}

impl<R> Authorized<R> {
    /// Who calls.
    pub fn caller(&self) -> &Principal {
        &self.entrant.principal
    }

    /// Who calls, with what holds for its credential.
    pub fn entrant(&self) -> &Arc<Entrant> {
        &self.entrant
    }
}

impl<R> Deref for Authorized<R> {
    type Target = Services;

    fn deref(&self) -> &Services {
        &self.services.0
    }
}

impl<R: Requirement> FromRequest for Authorized<R> {
    type Error = ApiError;
    type Future = Ready<Result<Self, ApiError>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        ready(authorize(request))
    }
}

fn authorize<R: Requirement>(request: &HttpRequest) -> Result<Authorized<R>, ApiError> {
    let entrant = request.extensions().get::<Arc<Entrant>>().cloned();
    let entrant = entrant.ok_or_else(unauthenticated)?;
    let services = request
        .app_data::<SealedServices>()
        .ok_or(ApiError::new(ProblemCode::Internal))?;
    services.open(entrant)
}

/// The challenge to a caller without a credential (RFC 6750).
pub(super) const CHALLENGE: &str = "Bearer realm=\"agent-service\"";

/// What a caller without a credential is told.
pub fn unauthenticated() -> ApiError {
    ApiError {
        challenge: Some(CHALLENGE.into()),
        ..ApiError::new(ProblemCode::Unauthenticated)
    }
}

/// What a caller is told who holds one of the scopes, but not what more is asked.
pub fn lacking(missing: Scopes) -> ApiError {
    insufficient(&missing.joined(" ")).with_detail(format!("needs {}", missing.joined(" and ")))
}

/// What a caller is told who holds none of the scopes of which one is enough. The challenge names
/// the first alone: several in one challenge are all needed (RFC 6750).
fn lacking_each(any_of: &[Scope]) -> ApiError {
    let names: Vec<&str> = any_of.iter().map(|scope| scope.as_str()).collect();
    insufficient(names.first().copied().unwrap_or_default())
        .with_detail(format!("needs the scope {}", names.join(" or ")))
}

fn insufficient(scopes: &str) -> ApiError {
    let challenge = format!("{CHALLENGE}, error=\"insufficient_scope\", scope=\"{scopes}\"");
    ApiError {
        challenge: Some(challenge.into()),
        ..ApiError::new(ProblemCode::InsufficientScope)
    }
}
