//! The extractor through which handlers reach the use cases.

use std::{
    future::{Ready, ready},
    marker::PhantomData,
    ops::Deref,
    sync::Arc,
};

use access::{AuthContext, CredentialWatch};
use actix_web::{FromRequest, HttpMessage, HttpRequest, dev::Payload, web::Data};
use application::{FileService, chat::ChatCaller};
use domain::{Principal, ProblemCode, Scope, Scopes, UploadQuota};
use ports::StreamSlot;

use super::{forwarded_caller::is_counted_elsewhere, open_stream_limit::open_stream};
use crate::{
    problem::ApiError,
    request::{QueryParameters, routed_path},
    state::{HttpState, Services},
};

/// The scopes that a handler requires of its caller.
pub trait Requirement: 'static {
    /// The caller needs one of these scopes. If empty, any credential is sufficient.
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
    /// `chat:write` or `tools:approve`.
    ToolsAnswer = [ChatWrite, ToolsApprove];
    /// `chat:write` or `conversations:read`.
    TurnsRead = [ChatWrite, ConversationsRead];
    /// `agents:read`, `chat:write` or `conversations:read`.
    AgentEventsRead = [AgentsRead, ChatWrite, ConversationsRead];
    /// `events:read`.
    EventsRead = [EventsRead];
    /// `metrics:read`.
    MetricsRead = [MetricsRead];
    /// `users:admin`.
    UsersAdmin = [UsersAdmin];
    /// `keys:admin`.
    KeysAdmin = [KeysAdmin];
    /// `user-tokens:issue`.
    UserTokensIssue = [UserTokensIssue];
}

/// The use cases in a type that only this module can name.
struct Sealed(Services);

/// Wraps the use cases in app data that only [`Authorized`] can unwrap.
pub fn seal(services: Services) -> SealedServices {
    SealedServices(Data::new(Sealed(services)))
}

/// The app data that [`seal`] returns.
#[derive(Clone)]
pub struct SealedServices(Data<Sealed>);

impl SealedServices {
    /// Returns the use cases of files, for those who have a link.
    pub(super) fn files(&self) -> &FileService {
        &self.0.0.files
    }

    /// Returns the use cases to a caller that meets the requirement `R`.
    pub fn open<R: Requirement>(
        &self,
        auth_context: Arc<AuthContext>,
    ) -> Result<Authorized<R>, ApiError> {
        let held = &auth_context.principal.scopes;
        if !R::ANY_OF.is_empty() && !R::ANY_OF.iter().any(|scope| held.contains(*scope)) {
            return Err(missing_any_scope(R::ANY_OF));
        }
        Ok(Authorized {
            auth_context,
            is_counted_elsewhere: false,
            services: self.0.clone(),
            requirement: PhantomData,
        })
    }
}

/// A caller that meets the requirement `R`, with access to the use cases.
pub struct Authorized<R> {
    auth_context: Arc<AuthContext>,
    /// True if a far region has forwarded the request, and counts the stream that it opens.
    is_counted_elsewhere: bool,
    services: Data<Sealed>,
    requirement: PhantomData<R>,
}

impl<R> Clone for Authorized<R> {
    fn clone(&self) -> Self {
        Self {
            auth_context: Arc::clone(&self.auth_context),
            is_counted_elsewhere: self.is_counted_elsewhere,
            services: self.services.clone(),
            requirement: PhantomData,
        }
    }
}

impl<R> Authorized<R> {
    /// Returns the principal of the caller.
    pub fn caller(&self) -> &Principal {
        &self.auth_context.principal
    }

    /// Returns the caller of a chat.
    pub fn chat_caller(&self) -> ChatCaller<'_> {
        self.auth_context.chat_caller()
    }

    /// Returns the principal of the caller, with the properties of its credential.
    pub fn auth_context(&self) -> &Arc<AuthContext> {
        &self.auth_context
    }

    /// Counts a stream of the caller, or rejects it. It is counted until the returned slot is dropped;
    /// the slot is `None` if the stream is counted in another region, or the limiter is unavailable.
    pub async fn open_stream(&self, state: &HttpState) -> Result<Option<StreamSlot>, ApiError> {
        if self.is_counted_elsewhere {
            return Ok(None);
        }
        open_stream(&state.rates.principals, &self.auth_context).await
    }

    /// Returns what the caller may upload on a day.
    pub fn upload_quota(&self) -> UploadQuota {
        let Self { auth_context, .. } = self;
        self.files
            .quota(&auth_context.principal, &auth_context.limits)
    }

    /// Starts to watch the credential of the caller.
    pub fn watch_credential(&self, state: &HttpState) -> CredentialWatch {
        let auth_context = Arc::clone(&self.auth_context);
        state.authenticator.watch_credential(auth_context)
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
    let auth_context = request.extensions().get::<Arc<AuthContext>>().cloned();
    let auth_context = auth_context.ok_or_else(unauthenticated)?;
    let services = request
        .app_data::<SealedServices>()
        .ok_or(ApiError::new(ProblemCode::Internal))?;
    let authorized = services.open(auth_context)?;
    check_query(request)?;
    Ok(Authorized {
        is_counted_elsewhere: is_counted_elsewhere(request),
        ..authorized
    })
}

/// Rejects the parameters of a query that the handler would ignore.
fn check_query(request: &HttpRequest) -> Result<(), ApiError> {
    if request.query_string().is_empty() {
        return Ok(());
    }
    let state = request.app_data::<Data<HttpState>>();
    let state = state.ok_or(ApiError::new(ProblemCode::Internal))?;
    let (method, path) = (request.method().as_str(), routed_path(request));
    match state.operations.of_request(method, path) {
        Some(operation) if operation.rejects_query() => {
            QueryParameters::read(request, &[]).finish()
        }
        _ => Ok(()),
    }
}

/// The challenge for requests without a credential (RFC 6750).
pub(super) const CHALLENGE: &str = "Bearer realm=\"agent-service\"";

/// Returns the error for requests without a credential.
pub fn unauthenticated() -> ApiError {
    ApiError {
        challenge: Some(CHALLENGE.into()),
        ..ApiError::new(ProblemCode::Unauthenticated)
    }
}

/// Returns the error for a caller that lacks all of the scopes `missing`.
pub(crate) fn missing_scopes(missing: &Scopes) -> ApiError {
    insufficient_scope(&missing.joined(" "))
        .with_detail(format!("The credential needs {}.", missing.joined(" and ")))
}

/// Returns the error for a caller that may not read a conversation.
pub fn missing_conversations_read() -> ApiError {
    missing_scope(Scope::ConversationsRead)
}

/// Returns the error for a caller that has none of several sufficient scopes. The challenge
/// contains only the first one, because all scopes of a challenge are needed (RFC 6750).
fn missing_any_scope(any_of: &[Scope]) -> ApiError {
    let names: Vec<&str> = any_of.iter().map(|scope| scope.as_str()).collect();
    insufficient_scope(names.first().copied().unwrap_or_default()).with_detail(format!(
        "The credential needs the scope {}.",
        names.join(" or ")
    ))
}

/// Returns the error for a caller that lacks this scope.
pub(crate) fn missing_scope(scope: Scope) -> ApiError {
    missing_scopes(&Scopes::NONE.with(scope))
}

pub(crate) fn insufficient_scope(scopes: &str) -> ApiError {
    let challenge = format!("{CHALLENGE}, error=\"insufficient_scope\", scope=\"{scopes}\"");
    ApiError {
        challenge: Some(challenge.into()),
        ..ApiError::new(ProblemCode::InsufficientScope)
    }
}
