//! The error catalogue: every problem code that a client can receive, in one table.
//!
//! It is part of the domain because a failed turn stores its problem, which is read long after the
//! request has ended.

use std::{borrow::Cow, sync::OnceLock, time::Duration};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::IntoDeserializer as _};

macro_rules! problem_codes {
    ($($name:ident = $slug:literal, $status:literal, $title:literal, $retryable:literal, $remedy:literal;)*) => {
        /// The kind of a problem, for programs.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
        #[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
        #[serde(rename_all = "snake_case")]
        pub enum ProblemCode {
            $(#[doc = $title] $name,)*
        }

        impl ProblemCode {
            /// Every code, in the order of the catalogue.
            pub const ALL: &'static [Self] = &[$(Self::$name),*];

            /// Returns the code in the API; also the last part of the problem's `type`.
            pub const fn slug(self) -> &'static str {
                match self { $(Self::$name => $slug),* }
            }

            /// Returns the HTTP status of the code.
            pub const fn status(self) -> u16 {
                match self { $(Self::$name => $status),* }
            }

            /// Returns a short sentence for people.
            pub const fn title(self) -> &'static str {
                match self { $(Self::$name => $title),* }
            }

            /// Returns `true` if the same request can succeed later.
            pub const fn is_retryable(self) -> bool {
                match self { $(Self::$name => $retryable),* }
            }

            /// Returns the advice for the client.
            pub const fn remedy(self) -> &'static str {
                match self { $(Self::$name => $remedy),* }
            }
        }
    };
}

problem_codes! {
    MalformedJson = "malformed_json", 400, "The body is not JSON.", false, "Send one UTF-8 JSON document, nested at most 64 deep.";
    InvalidCursor = "invalid_cursor", 400, "The cursor does not belong to this listing.", false, "Start again without a cursor; keep the same filters for all pages.";
    InvalidHeader = "invalid_header", 400, "A request header is malformed.", false, "Correct the header named in `errors`.";
    InvalidSubprotocol = "invalid_subprotocol", 400, "The WebSocket subprotocol is not known.", false, "Offer `agent-service.v1`, or none.";
    AmbiguousCredentials = "ambiguous_credentials", 400, "More than one credential was sent.", false, "Send either `Authorization` or `X-API-Key`, once.";
    Unauthenticated = "unauthenticated", 401, "A credential is needed.", false, "Send an API key in `X-API-Key`, or a token in `Authorization: Bearer`.";
    InvalidCredentials = "invalid_credentials", 401, "The credential is not valid.", false, "Check the key or token; it may be mistyped, revoked, or from another service.";
    TokenExpired = "token_expired", 401, "The token has expired.", false, "Fetch a new token.";
    InvalidTicket = "invalid_ticket", 401, "The ticket is not valid.", false, "Fetch a new ticket; each is valid once, for 30 seconds.";
    InsufficientScope = "insufficient_scope", 403, "The credential does not allow this.", false, "Use a credential with the scope named in `detail`.";
    OriginNotAllowed = "origin_not_allowed", 403, "This origin may not use the credential.", false, "Call from one of the key's `allowedOrigins` or, where it has none, from an origin that the server allows.";
    RouteNotFound = "route_not_found", 404, "No resource exists at this path.", false, "Compare the path with `/openapi.json`.";
    AgentNotFound = "agent_not_found", 404, "The agent does not exist.", false, "Check the id; the agent may have been deleted.";
    ConversationNotFound = "conversation_not_found", 404, "The conversation does not exist.", false, "Check the id; the conversation or its agent may have been deleted.";
    TurnNotFound = "turn_not_found", 404, "The turn does not exist.", false, "Check the id.";
    KeyNotFound = "key_not_found", 404, "The key does not exist.", false, "Check the id.";
    ClientNotFound = "client_not_found", 404, "The client does not exist.", false, "Check the id.";
    MethodNotAllowed = "method_not_allowed", 405, "This path does not support this method.", false, "Use one of the methods in `Allow`.";
    NotAcceptable = "not_acceptable", 406, "No available media type matches `Accept`.", false, "Accept `application/json`, or `text/event-stream` where the operation can stream, or omit the header.";
    RequestTimeout = "request_timeout", 408, "The request's body did not arrive in time.", true, "Send the whole body within 15 seconds.";
    ConversationBusy = "conversation_busy", 409, "A turn is in progress in this conversation.", true, "Wait for it to end, or let the turn queue.";
    MessageSuperseded = "message_superseded", 409, "The message was replaced by a later turn.", false, "Read the messages again, and choose one that is not superseded.";
    TurnCancelled = "turn_cancelled", 409, "The turn was cancelled.", false, "Send the message again if it is still wanted.";
    IdempotencyKeyInUse = "idempotency_key_in_use", 409, "The idempotency key is in use.", true, "Wait, or use a new key for a new request.";
    IdempotencyKeyUsed = "idempotency_key_used", 409, "The idempotency key was used, and its response contained a secret.", false, "Read the created resource by the id in `detail`, or use a new key.";
    CursorExpired = "cursor_expired", 410, "The log does not contain this position.", false, "Read the current state, then follow from the head.";
    VersionMismatch = "version_mismatch", 412, "The resource has changed since it was read.", false, "Read it again and repeat the change on the new version.";
    BodyTooLarge = "body_too_large", 413, "The body is too large.", false, "Keep to the limit in `/api/limits`.";
    UriTooLong = "uri_too_long", 414, "The URL is too long.", false, "Keep to the limit in `/api/limits`.";
    UnsupportedMediaType = "unsupported_media_type", 415, "The body's media type or encoding is not supported.", false, "Send `application/json` without a `Content-Encoding`.";
    ValidationFailed = "validation_failed", 422, "The request is well-formed but not valid.", false, "Correct every item of `errors`.";
    IdempotencyKeyReused = "idempotency_key_reused", 422, "The idempotency key was used with another command.", false, "Use a new key for a new command.";
    InvalidRule = "invalid_rule", 422, "A rule is invalid.", false, "Correct the rules named in `errors`.";
    UnknownEngine = "unknown_engine", 422, "The server has no such reply engine.", false, "Choose one that `/api/engines` lists.";
    UnknownCommand = "unknown_command", 422, "The command is unknown.", false, "Compare the frame with `/asyncapi.json`.";
    UpgradeRequired = "upgrade_required", 426, "This path requires WebSocket.", false, "Send a WebSocket upgrade.";
    RateLimited = "rate_limited", 429, "Too many requests.", true, "Wait for the seconds in `retryAfter`.";
    TooManyStreams = "too_many_streams", 429, "Too many open streams.", true, "Close a stream or socket first.";
    Internal = "internal", 500, "An internal error occurred.", true, "Try again; report the `requestId` if the error persists.";
    EngineFailed = "engine_failed", 502, "The reply engine failed.", false, "Check the agent's configuration; see the server's log for details.";
    EngineUnavailable = "engine_unavailable", 503, "The reply engine is unavailable.", true, "Try again later, or give the agent fallbacks.";
    StoreUnavailable = "store_unavailable", 503, "The store cannot be reached.", true, "The outcome of a write is unknown: repeat it with the same Idempotency-Key.";
    IssuerUnavailable = "issuer_unavailable", 503, "The token's issuer cannot be reached.", true, "The token could not be checked: send it again after the seconds in `retryAfter`.";
    Overloaded = "overloaded", 503, "The server is overloaded.", true, "Try again after the seconds in `retryAfter`.";
    Draining = "draining", 503, "The server is shutting down.", true, "Try again; another node will reply.";
    Interrupted = "interrupted", 503, "The turn was interrupted.", true, "Send the message again.";
    EngineTimeout = "engine_timeout", 504, "The reply engine took too long.", true, "Try again, or raise the agent's `timeoutMs`.";
}

impl ProblemCode {
    /// Returns the default `retryAfter` in whole seconds, for 429 and 503.
    pub const fn default_retry_after(self) -> Option<u32> {
        match self.status() {
            429 | 503 => Some(1),
            _ => None,
        }
    }
}

/// The path under which clients reach the service.
static BASE_PATH: OnceLock<String> = OnceLock::new();

/// Sets the path of the public URL, such as `/agents`. The `type` and `instance` of all problems of
/// this process begin with it. Only the first call has an effect.
pub fn set_base_path(path: &str) {
    BASE_PATH.get_or_init(|| path.to_owned());
}

/// Returns the path of the public URL; empty at the root of a host.
pub fn base_path() -> &'static str {
    BASE_PATH.get().map_or("", String::as_str)
}

/// The type of a problem: the path of a page that explains its code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProblemType(pub ProblemCode);

impl Serialize for ProblemType {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let base = base_path();
        serializer.collect_str(&format_args!("{base}/problems/{}", self.0.slug()))
    }
}

impl<'de> Deserialize<'de> for ProblemType {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let path = String::deserialize(deserializer)?;
        let slug = path.rsplit('/').next().unwrap_or_default();
        ProblemCode::deserialize(slug.into_deserializer()).map(Self)
    }
}

/// A problem body (RFC 9457). On a turn, it contains the reason of the failure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct Problem {
    /// `/problems/<code>`: a page that explains the code and its remedy.
    #[serde(rename = "type")]
    #[cfg_attr(feature = "schema", schema(value_type = String))]
    pub kind: ProblemType,
    /// The meaning of the code, for people.
    pub title: Cow<'static, str>,
    /// The HTTP status.
    pub status: u16,
    /// The explanation for this request.
    pub detail: Cow<'static, str>,
    /// The path of the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(nullable = false))]
    pub instance: Option<String>,
    /// The kind of the problem, for programs.
    pub code: ProblemCode,
    /// The `X-Request-Id` of the request that failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(nullable = false))]
    pub request_id: Option<String>,
    /// True if the same request can succeed later.
    pub retryable: bool,
    /// For 429 and 503: the number of whole seconds after which to try again, counted from this
    /// response or, on a turn, from its `finishedAt`. Where there are headers, `Retry-After` has
    /// the same value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(nullable = false))]
    pub retry_after: Option<u32>,
    /// All faults of the request, if there can be several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<ProblemFault>,
}

/// One fault of a request, in its body, its query or its headers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct ProblemFault {
    /// RFC 6901 pointer into the body.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(nullable = false))]
    pub pointer: Option<String>,
    /// Name of a query or path parameter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(nullable = false))]
    pub parameter: Option<String>,
    /// Name of a header.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(nullable = false))]
    pub header: Option<String>,
    /// The kind of the fault, for programs.
    pub code: crate::FaultCode,
    /// The explanation for people.
    pub detail: String,
}

impl From<crate::InputFault> for ProblemFault {
    fn from(fault: crate::InputFault) -> Self {
        Self {
            pointer: Some(fault.pointer),
            parameter: None,
            header: None,
            code: fault.code,
            detail: fault.detail,
        }
    }
}

impl Problem {
    /// Creates a problem with the default detail of its code.
    pub fn new(code: ProblemCode) -> Self {
        Self {
            kind: ProblemType(code),
            title: code.title().into(),
            status: code.status(),
            detail: code.remedy().into(),
            instance: None,
            code,
            request_id: None,
            retryable: code.is_retryable(),
            retry_after: code.default_retry_after(),
            errors: Vec::new(),
        }
    }

    /// Replaces the detail.
    #[must_use]
    pub fn with_detail(mut self, detail: impl Into<Cow<'static, str>>) -> Self {
        self.detail = detail.into();
        self
    }

    /// Replaces the time after which to try again, if `wait` is known.
    #[must_use]
    pub fn with_retry_after(mut self, wait: Option<Duration>) -> Self {
        self.retry_after = wait.map(seconds_to_wait).or(self.retry_after);
        self
    }
}

/// Converts a wait to the form of the API: whole seconds, rounded up, at least one.
pub fn seconds_to_wait(wait: Duration) -> u32 {
    let seconds = wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
    u32::try_from(seconds).unwrap_or(u32::MAX).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slug_is_the_wire_form_of_the_code() {
        for code in ProblemCode::ALL {
            assert_eq!(serde_json::to_value(code).unwrap(), code.slug());
            assert_eq!(Problem::new(*code).status, code.status());
        }
    }

    #[test]
    fn retryable_overload_problems_have_retry_after() {
        let retry_after_of = |code| Problem::new(code).retry_after;
        assert_eq!(retry_after_of(ProblemCode::RateLimited), Some(1));
        assert_eq!(retry_after_of(ProblemCode::EngineUnavailable), Some(1));
        assert_eq!(retry_after_of(ProblemCode::EngineTimeout), None);
        assert_eq!(retry_after_of(ProblemCode::AgentNotFound), None);
        for (milliseconds, seconds) in [(0, 1), (1, 1), (1_000, 1), (1_001, 2), (60_000, 60)] {
            let wait = Some(Duration::from_millis(milliseconds));
            let problem = Problem::new(ProblemCode::EngineUnavailable).with_retry_after(wait);
            assert_eq!(problem.retry_after, Some(seconds));
        }
        let unknown = Problem::new(ProblemCode::Overloaded).with_retry_after(None);
        assert_eq!(unknown.retry_after, Some(1));
    }

    #[test]
    fn a_problem_that_was_stored_without_retry_after_can_be_read() {
        let mut stored = serde_json::to_value(Problem::new(ProblemCode::Interrupted)).unwrap();
        assert_eq!(stored["retryAfter"], 1);
        stored.as_object_mut().unwrap().remove("retryAfter");
        let read: Problem = serde_json::from_value(stored).unwrap();
        assert_eq!(
            (read.code, read.retry_after),
            (ProblemCode::Interrupted, None)
        );
    }
}
