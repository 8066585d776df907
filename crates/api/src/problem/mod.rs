//! Every answer that is not a success: `application/problem+json` (RFC 9457).

mod from_services;
mod render;

use std::{borrow::Cow, fmt};

use actix_web::{HttpResponse, ResponseError, http::StatusCode};
pub use domain::problem::seconds_to_wait;
use domain::{
    ConversationId, Fault, FaultCode, ProblemCode, RatePolicy, TurnId, problem::ProblemFault,
};
use ports::BoxError;
use serde::Serialize;

pub use from_services::{not_found, store_problem};
pub use render::{FailureCause, PROBLEM_JSON, ProblemBody, fill_in, respond};

/// An error on its way to the client. The normaliser layer writes its body, since only there
/// the request is at hand.
#[derive(Debug)]
pub struct ApiError {
    /// What went wrong.
    pub code: ProblemCode,
    /// What is wrong with this very request; ignored for 5xx, whose detail is constant.
    pub detail: Option<Cow<'static, str>>,
    /// Every fault of the request.
    pub faults: Vec<ProblemFault>,
    /// Whole seconds after which to try again; what is usual for the code when none.
    pub retry_after: Option<u32>,
    /// The same request can succeed later.
    pub retryable: bool,
    /// The rate limit that refuses the request.
    pub violated_policy: Option<LimitPolicy>,
    /// What `WWW-Authenticate` says.
    pub challenge: Option<Box<str>>,
    /// Where the tenant's log begins and ends, for `cursor_expired`.
    pub log_bounds: Option<Box<(i64, i64)>>,
    /// The turn that was stored for the request, and its conversation.
    pub turn: Option<Box<(TurnId, ConversationId)>>,
    /// Whether it was answered before, to the first request with this idempotency key.
    pub is_replayed: bool,
    /// The cause, for the log alone.
    pub source: Option<BoxError>,
}

impl ApiError {
    /// An error that says what its code says to everybody.
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
            turn: None,
            is_replayed: false,
            source: None,
        }
    }

    /// The same error with a detail of its own.
    #[must_use]
    pub fn with_detail(mut self, detail: impl Into<Cow<'static, str>>) -> Self {
        self.detail = Some(detail.into());
        self
    }

    /// The same error with its cause, for the log.
    #[must_use]
    pub fn because(mut self, source: impl Into<BoxError>) -> Self {
        self.source = Some(source.into());
        self
    }

    /// A body whose faults have this code.
    pub fn faults(code: ProblemCode, faults: Vec<Fault>) -> Self {
        Self {
            faults: faults.into_iter().map(ProblemFault::from).collect(),
            ..Self::new(code)
        }
    }

    /// A fault of one query parameter.
    pub fn parameter(name: &str, code: FaultCode, detail: impl Into<String>) -> Self {
        Self {
            faults: vec![parameter_fault(name, code, detail)],
            ..Self::new(ProblemCode::ValidationFailed)
        }
    }

    /// A malformed request header.
    pub fn header(name: &str, detail: impl Into<String>) -> Self {
        let fault = ProblemFault {
            pointer: None,
            parameter: None,
            header: Some(name.to_owned()),
            code: FaultCode::BadFormat,
            detail: detail.into(),
        };
        Self {
            faults: vec![fault],
            ..Self::new(ProblemCode::InvalidHeader)
        }
    }
}

/// A fault of one query parameter.
pub fn parameter_fault(name: &str, code: FaultCode, detail: impl Into<String>) -> ProblemFault {
    ProblemFault {
        pointer: None,
        parameter: Some(name.to_owned()),
        header: None,
        code,
        detail: detail.into(),
    }
}

/// A rate limit that a request can meet, as `violatedPolicies` names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LimitPolicy {
    /// Requests of a principal.
    Requests,
    /// Chats of a principal.
    Chat,
    /// Bytes of events that a principal writes.
    LogBytes,
    /// Streams and sockets of a principal that are open at once.
    Streams,
    /// Commands on one socket.
    Commands,
    /// Requests from one network address of which nobody knows yet whose they are.
    Address,
}

impl LimitPolicy {
    /// Every limit.
    pub const ALL: [Self; 6] = [
        Self::Requests,
        Self::Chat,
        Self::LogBytes,
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
            RatePolicy::LogBytes => Self::LogBytes,
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
        formatter.write_str(self.code.slug())
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

    /// The status alone: the normaliser writes the rest, and what is written twice costs twice.
    fn error_response(&self) -> HttpResponse {
        HttpResponse::new(self.status_code())
    }
}
