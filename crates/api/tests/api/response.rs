//! Requests and responses. Every response is checked against the promises of all responses.

use std::net::SocketAddr;

use domain::ProblemCode;
use reqwest::{Method, StatusCode, header::HeaderMap};
use serde_json::Value;
use tokio::task::JoinHandle;
use tokio_util::task::TaskTracker;

use crate::{documented, redaction};

/// A request.
pub(crate) struct Request {
    method: Method,
    path: String,
    inner: reqwest::RequestBuilder,
}

impl Request {
    pub(crate) fn new(
        http: &reqwest::Client,
        address: SocketAddr,
        method: &str,
        path: &str,
    ) -> Self {
        let method: Method = method.parse().expect("a method");
        let inner = http.request(method.clone(), format!("http://{address}{path}"));
        Self {
            method,
            path: path.to_owned(),
            inner,
        }
    }

    #[must_use]
    pub(crate) fn header(mut self, name: &str, value: &str) -> Self {
        self.inner = self.inner.header(name, value);
        self
    }

    #[must_use]
    pub(crate) fn json(mut self, body: &Value) -> Self {
        self.inner = self.inner.json(body);
        self
    }

    /// A body that claims to be JSON.
    #[must_use]
    pub(crate) fn body(self, body: impl Into<reqwest::Body>) -> Self {
        self.header("Content-Type", "application/json")
            .raw_body(body)
    }

    /// A form.
    #[must_use]
    pub(crate) fn form(self, parameters: &[(&str, &str)]) -> Self {
        let encode = |text: &str| -> String {
            text.bytes()
                .map(|byte| match byte {
                    b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' | b'-' | b'.' | b'_' => {
                        char::from(byte).to_string()
                    }
                    other => format!("%{other:02X}"),
                })
                .collect()
        };
        let pairs: Vec<String> = parameters
            .iter()
            .map(|(name, value)| format!("{}={}", encode(name), encode(value)))
            .collect();
        self.header("Content-Type", "application/x-www-form-urlencoded")
            .raw_body(pairs.join("&"))
    }

    /// A body without a content type.
    #[must_use]
    pub(crate) fn raw_body(mut self, body: impl Into<reqwest::Body>) -> Self {
        self.inner = self.inner.body(body);
        self
    }

    /// Sends the request, and leaves the body to be read.
    pub(crate) async fn open(self) -> reqwest::Response {
        self.inner.send().await.expect("an answer")
    }

    /// Sends the request in the background.
    pub(crate) fn begin(self) -> JoinHandle<ApiResponse> {
        TaskTracker::new().spawn(self.send())
    }

    pub(crate) async fn send(self) -> ApiResponse {
        let response = self.inner.send().await.expect("an answer");
        let (status, headers) = (response.status(), response.headers().clone());
        let body = response.bytes().await.expect("a whole body").to_vec();
        ApiResponse::checked(self.method.as_str(), &self.path, status, headers, body)
    }
}

/// A response that keeps the promises of all responses.
#[derive(Debug)]
pub(crate) struct ApiResponse {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
}

impl ApiResponse {
    /// Checks the response to `method path` against the promises of all responses.
    pub(crate) fn checked(
        method: &str,
        path: &str,
        status: StatusCode,
        headers: HeaderMap,
        body: Vec<u8>,
    ) -> Self {
        let response = Self {
            status: status.as_u16(),
            headers,
            body,
        };
        assert!(
            (1..=128).contains(&response.header("x-request-id").len()),
            "{method} {path}: {response:?}"
        );
        assert_eq!(response.header("x-content-type-options"), "nosniff");
        assert!(
            response.has("cache-control"),
            "{method} {path}: {response:?}"
        );
        if path.starts_with("/oauth2/") {
            response.check_oauth(method);
        } else if response.status >= 400 {
            response.check_problem(method);
        }
        documented::check(method, path, &response);
        response
    }

    /// OAuth endpoints have error codes of their own.
    fn check_oauth(&self, method: &str) {
        assert_eq!(self.header("cache-control"), "no-store");
        assert_eq!(self.header("pragma"), "no-cache");
        assert_eq!(
            self.has("retry-after"),
            matches!(self.status, 429 | 503),
            "{self:?}"
        );
        assert_eq!(self.has("www-authenticate"), self.status == 401, "{self:?}");
        if self.status < 400 {
            return;
        }
        assert_eq!(self.header("content-type"), "application/json");
        if method == "HEAD" {
            assert!(self.body.is_empty(), "{self:?}");
            return;
        }
        let body = self.json();
        let members = body.as_object().expect("an object");
        assert_eq!(members.len(), 2, "{body}");
        let description = members["error_description"].as_str().expect("text");
        let is_allowed = |byte: u8| matches!(byte, 0x20..=0x7e) && !b"\"\\".contains(&byte);
        assert!(description.bytes().all(is_allowed), "{body}");
        let expected: &[&str] = match self.status {
            400 => &[
                "invalid_request",
                "invalid_grant",
                "invalid_scope",
                "invalid_target",
                "unsupported_grant_type",
            ],
            401 => &["invalid_client"],
            429 | 503 => &["temporarily_unavailable"],
            402..=499 => &["invalid_request"],
            _ => &["server_error"],
        };
        let error = members["error"].as_str().expect("text");
        assert!(expected.contains(&error), "{}: {body}", self.status);
    }

    fn check_problem(&self, method: &str) {
        assert_eq!(self.header("content-type"), "application/problem+json");
        assert_eq!(self.header("cache-control"), "no-store");
        let needs_wait = matches!(self.status, 429 | 503);
        assert_eq!(self.has("retry-after"), needs_wait, "{self:?}");
        if method == "HEAD" {
            assert!(self.body.is_empty(), "{self:?}");
            return;
        }
        let body = self.json();
        let code = ProblemCode::known(body["code"].as_str().unwrap_or_default());
        let code = code.expect("a code of the catalogue");
        assert_eq!(body["status"], self.status, "{body}");
        assert_eq!(self.status, code.status(), "{body}");
        // The path is relative to the public URL's path, if it has one.
        let page = format!("/problems/{}", code.as_str());
        let is_page = body["type"].as_str().is_some_and(|it| it.ends_with(&page));
        assert!(is_page, "{body}");
        assert_eq!(body["title"], code.title());
        // Of all engine failures, only a truncated reply is retryable; an invalid output is, unless it is that of rules.
        if !matches!(code, ProblemCode::EngineFailed | ProblemCode::InvalidOutput) {
            assert_eq!(body["retryable"], code.is_retryable(), "{body}");
        }
        assert_eq!(body["requestId"], self.header("x-request-id"));
        assert!(body["detail"].is_string(), "{body}");
        assert!(body["instance"].is_string(), "{body}");
        if self.status >= 500 {
            let detail = body["detail"].as_str().unwrap_or_default();
            let inner = detail
                .strip_suffix(code.remedy())
                .expect("the remedy of the code");
            let may_be_told =
                code.as_str().starts_with("engine_") && inner.starts_with("The cause: ");
            assert!(
                inner.is_empty() || may_be_told,
                "no inner detail may leave: {body}"
            );
        }
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.headers.contains_key(name)
    }

    /// The value of a header that must occur exactly once.
    pub(crate) fn header(&self, name: &str) -> &str {
        let mut values = self.headers.get_all(name).iter();
        let (Some(value), None) = (values.next(), values.next()) else {
            panic!("{name} once in {self:?}");
        };
        value.to_str().expect("a header of visible ASCII")
    }

    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.body).expect("UTF-8")
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// The body of a 200.
    pub(crate) fn ok(&self) -> Value {
        assert_eq!(self.status, 200, "{}", self.text());
        self.json()
    }

    /// The body of a 201.
    pub(crate) fn created(&self) -> Value {
        assert_eq!(self.status, 201, "{}", self.text());
        self.json()
    }

    /// The OAuth error code.
    pub(crate) fn oauth_error(&self) -> (u16, String) {
        let body = self.json();
        let error = body["error"].as_str();
        let error = error.unwrap_or_else(|| panic!("no error in {body}"));
        (self.status, error.to_owned())
    }

    /// The body of an error with this code.
    pub(crate) fn problem(&self, code: ProblemCode) -> Value {
        assert!(self.status >= 400, "{}: {}", self.status, self.text());
        let body = self.json();
        assert_eq!(body["code"], code.as_str(), "{body}");
        body
    }

    /// The `(pointer, parameter or header, code)` of each error.
    pub(crate) fn faults(&self) -> Vec<(String, String)> {
        let body = self.json();
        let faults = body["errors"].as_array().cloned().unwrap_or_default();
        let pointer = |fault: &Value| {
            ["pointer", "parameter", "header"]
                .iter()
                .find_map(|kind| fault[*kind].as_str().map(ToOwned::to_owned))
                .unwrap_or_else(|| panic!("a fault without a place: {fault}"))
        };
        faults
            .iter()
            .map(|fault| {
                let code = fault["code"].as_str().expect("a fault has a code");
                (pointer(fault), code.to_owned())
            })
            .collect()
    }

    /// Status and body for a snapshot, without values that differ between runs.
    pub(crate) fn snapshot(&self) -> String {
        let mut body = self.json();
        redaction::redact(&mut body);
        let body = serde_json::to_string_pretty(&body).expect("JSON");
        let status = StatusCode::from_u16(self.status).expect("a status");
        format!("{status}\n{body}")
    }
}
