//! Problems: the errors that clients receive.
//!
//! They are part of the domain because a failed turn stores its problem, which is read long after
//! the request has ended.

use std::{borrow::Cow, fmt::Write as _, sync::OnceLock, time::Duration};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::{FaultCode, InputFault, ProblemCode, UnknownMembers};

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
        serializer.collect_str(&format_args!("{base}/problems/{}", self.0.as_str()))
    }
}

impl<'de> Deserialize<'de> for ProblemType {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let path = String::deserialize(deserializer)?;
        let slug = path.rsplit('/').next().unwrap_or_default();
        Ok(Self(ProblemCode::read(slug)))
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
    /// Why an engine failed, for callers who may configure agents. It is neither stored nor sent as
    /// a member.
    #[serde(skip)]
    pub cause: Option<Box<str>>,
    /// All faults of the request, if there can be several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<ProblemFault>,
    /// The members that only a newer version knows.
    #[serde(flatten)]
    #[cfg_attr(feature = "schema", schema(ignore))]
    pub unknown: UnknownMembers,
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
    pub code: FaultCode,
    /// The explanation for people.
    pub detail: String,
    /// The members that only a newer version knows.
    #[serde(flatten)]
    #[cfg_attr(feature = "schema", schema(ignore))]
    pub unknown: UnknownMembers,
}

impl From<InputFault> for ProblemFault {
    fn from(fault: InputFault) -> Self {
        Self {
            pointer: Some(fault.pointer),
            parameter: None,
            header: None,
            code: fault.code,
            detail: fault.detail,
            unknown: UnknownMembers::default(),
        }
    }
}

impl ProblemFault {
    /// Returns the pointer into the body or the name of the parameter or header; `None` if the fault
    /// is one of the whole body.
    pub fn place(&self) -> Option<&str> {
        let places = [&self.pointer, &self.parameter, &self.header];
        let place = places.into_iter().flatten().next()?;
        (!place.is_empty()).then_some(place)
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
            cause: None,
            errors: Vec::new(),
            unknown: UnknownMembers::default(),
        }
    }

    /// Tells the cause in the detail, if it is known.
    #[must_use]
    pub fn with_cause_told(mut self) -> Self {
        if let Some(cause) = self.cause.take() {
            self.detail = format!("The cause: {cause}. {}", self.detail).into();
        }
        self
    }

    /// Returns the problem as one line of text: its title, and its faults or else its detail.
    pub fn text(&self) -> String {
        if self.errors.is_empty() {
            return format!("{} {}", self.title, self.detail);
        }
        let mut text = self.title.to_string();
        for fault in &self.errors {
            // Writing to a string cannot fail.
            let _ = match fault.place() {
                Some(place) => write!(text, " {place}: {}.", fault.detail),
                None => write!(text, " {}.", fault.detail),
            };
        }
        text
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
            assert_eq!(serde_json::to_value(code).unwrap(), code.as_str());
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
    fn the_text_has_the_title_and_the_faults_or_else_the_detail() {
        assert_eq!(
            Problem::new(ProblemCode::ConversationBusy).text(),
            "A turn is in progress in this conversation. Wait for it to end, or let the turn queue."
        );
        let mut invalid = Problem::new(ProblemCode::ValidationFailed);
        let faults = [("/threadId", "must be a key"), ("", "must be an object")];
        invalid.errors = faults
            .map(|(at, detail)| InputFault::new(at, FaultCode::BadFormat, detail))
            .map(ProblemFault::from)
            .into();
        assert_eq!(
            invalid.text(),
            "The request is well-formed but not valid. /threadId: must be a key. must be an object."
        );
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
