//! Problem responses: `application/problem+json` (RFC 9457).

mod body;
mod from_services;
pub mod oauth;
mod render;

use std::{borrow::Cow, fmt};

use actix_web::{HttpResponse, ResponseError, http::StatusCode};
pub use domain::problem::seconds_to_wait;
use domain::{
    ConversationId, FaultCode, InputFault, ProblemCode, RatePolicy, TurnId, UnknownMembers,
    UploadPolicy, problem::ProblemFault,
};
use ports::BoxError;
use serde::Serialize;

pub use body::{ProblemBody, problem};
pub use from_services::{not_found, only_for_keys, store_problem};
pub use render::respond;
pub(crate) use render::{FailureCause, PROBLEM_JSON, into_problem};

/// An error of the API. The layer [`crate::layers::problem_responses`] writes its body, because
/// only there the request is available.
#[derive(Debug)]
pub struct ApiError {
    /// The code.
    pub code: ProblemCode,
    /// A description of this occurrence. Ignored for 5xx, whose detail is constant.
    pub detail: Option<Cow<'static, str>>,
    /// The faults of the request.
    pub faults: Vec<ProblemFault>,
    /// The time in whole seconds after which to retry; `None` means the default of the code.
    pub retry_after: Option<u32>,
    /// True if the same request can succeed later.
    pub retryable: bool,
    /// The rate limit that the request exceeds.
    pub violated_policy: Option<LimitPolicy>,
    /// The value of `WWW-Authenticate`.
    pub challenge: Option<Box<str>>,
    /// The first and the last position in the tenant's log, for `cursor_expired`.
    pub log_bounds: Option<Box<(i64, i64)>>,
    /// The status of the tool call, for `action_decided`.
    pub call_status: Option<Box<str>>,
    /// The turn that was stored for the request, and its conversation.
    pub turn: Option<Box<(TurnId, ConversationId)>>,
    /// True if this repeats the response to an earlier request with the same idempotency key.
    pub is_replayed: bool,
    /// The cause, which is only logged, except for a [`ports::ToldCause`].
    pub source: Option<BoxError>,
}

impl ApiError {
    /// Creates an error without details.
    pub const fn new(code: ProblemCode) -> Self {
        Self {
            code,
            detail: None,
            faults: Vec::new(),
            retry_after: None,
            retryable: code.is_retryable(),
            violated_policy: None,
            challenge: None,
            log_bounds: None,
            call_status: None,
            turn: None,
            is_replayed: false,
            source: None,
        }
    }

    /// Adds a description of this occurrence.
    #[must_use]
    pub fn with_detail(mut self, detail: impl Into<Cow<'static, str>>) -> Self {
        self.detail = Some(detail.into());
        self
    }

    /// Adds the cause, which is only logged.
    #[must_use]
    pub fn with_source(mut self, source: impl Into<BoxError>) -> Self {
        self.source = Some(source.into());
        self
    }

    /// Returns true if the error is to be logged: a failure of the server that nothing else reports.
    pub fn is_failure(&self) -> bool {
        let is_expected = match self.code {
            // An orderly shutdown; and the connection to the home region logs its outages itself.
            ProblemCode::Draining | ProblemCode::HomeUnavailable => true,
            // A tenant that exceeds its own share.
            ProblemCode::Overloaded => self.source.is_none(),
            _ => false,
        };
        self.code.status() >= 500 && !is_expected
    }

    /// Creates an error with the faults of a body.
    pub fn faults(code: ProblemCode, faults: Vec<InputFault>) -> Self {
        Self {
            faults: faults.into_iter().map(ProblemFault::from).collect(),
            ..Self::new(code)
        }
    }

    /// Creates an error with one fault of a body, at `pointer`.
    pub fn invalid(pointer: impl Into<String>, code: FaultCode, detail: impl Into<String>) -> Self {
        let fault = InputFault::new(pointer, code, detail);
        Self::faults(ProblemCode::ValidationFailed, vec![fault])
    }

    /// Creates an error with one fault of a query parameter.
    pub fn parameter(name: &str, code: FaultCode, detail: impl Into<String>) -> Self {
        Self {
            faults: vec![parameter_fault(name, code, detail)],
            ..Self::new(ProblemCode::ValidationFailed)
        }
    }

    /// Creates an error for a malformed request header.
    pub fn header(name: &str, detail: impl Into<String>) -> Self {
        let fault = ProblemFault {
            pointer: None,
            parameter: None,
            header: Some(name.to_owned()),
            code: FaultCode::BadFormat,
            detail: detail.into(),
            unknown: UnknownMembers::default(),
        };
        Self {
            faults: vec![fault],
            ..Self::new(ProblemCode::InvalidHeader)
        }
    }
}

/// Creates a fault of a query parameter.
pub(crate) fn parameter_fault(
    name: &str,
    code: FaultCode,
    detail: impl Into<String>,
) -> ProblemFault {
    ProblemFault {
        pointer: None,
        parameter: Some(name.to_owned()),
        header: None,
        code,
        detail: detail.into(),
        unknown: UnknownMembers::default(),
    }
}

/// A rate limit, as `violatedPolicies` names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LimitPolicy {
    /// Requests of a principal.
    Requests,
    /// Chats of a principal.
    Chat,
    /// Tokens that a principal issues to users.
    UserTokens,
    /// Bytes of events that a principal causes.
    LogBytes,
    /// Files that a principal uploads on a day.
    Files,
    /// Their bytes.
    FileBytes,
    /// Streams and sockets that a principal has open at the same time.
    Streams,
    /// Commands on one socket.
    Commands,
    /// Requests from one client address without a known credential.
    Address,
}

impl LimitPolicy {
    /// Every limit.
    pub const ALL: [Self; 9] = [
        Self::Requests,
        Self::Chat,
        Self::UserTokens,
        Self::LogBytes,
        Self::Files,
        Self::FileBytes,
        Self::Streams,
        Self::Commands,
        Self::Address,
    ];
}

impl From<RatePolicy> for LimitPolicy {
    fn from(policy: RatePolicy) -> Self {
        match policy {
            RatePolicy::Requests => Self::Requests,
            RatePolicy::Chat => Self::Chat,
            RatePolicy::UserTokens => Self::UserTokens,
            RatePolicy::LogBytes => Self::LogBytes,
        }
    }
}

impl From<UploadPolicy> for LimitPolicy {
    fn from(policy: UploadPolicy) -> Self {
        match policy {
            UploadPolicy::Files => Self::Files,
            UploadPolicy::FileBytes => Self::FileBytes,
        }
    }
}

impl From<ProblemCode> for ApiError {
    fn from(code: ProblemCode) -> Self {
        Self::new(code)
    }
}

impl fmt::Display for ApiError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.code.as_str())
    }
}

impl std::error::Error for ApiError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.source.as_deref().map(|source| source as _)
    }
}

impl ResponseError for ApiError {
    fn status_code(&self) -> StatusCode {
        StatusCode::from_u16(self.code.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
    }

    /// Returns a response with the status only. The layer `problem_responses` writes the rest, and
    /// writing it twice would cost twice.
    fn error_response(&self) -> HttpResponse {
        HttpResponse::new(self.status_code())
    }
}
