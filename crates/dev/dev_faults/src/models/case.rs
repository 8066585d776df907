//! The failures of the upstream, and the errors that clients must receive.

use std::net::SocketAddr;

use dev_load::upstream::{ResponseMode, Upstream};

/// A failure of the upstream.
#[derive(Debug, Clone)]
pub(super) struct Case {
    /// The name of engine and response mode.
    pub(super) name: &'static str,
    pub(super) description: &'static str,
    pub(super) base_url: String,
    pub(super) status: u16,
    pub(super) code: &'static str,
    /// True if deltas are sent before the failure: then no fallback may continue.
    pub(super) sends_words: bool,
    /// The agent's time limit for an engine, in milliseconds.
    pub(super) timeout: u32,
}

/// Beyond the limit of a slow response, which counts as a failure of the engine.
const SLOW: u32 = 11_000;
/// Enough for all retries.
const NORMAL: u32 = 9_000;

/// The problem of an engine that is unavailable.
const UNAVAILABLE: (u16, &str) = (503, "engine_unavailable");
/// The problem of an engine without a response in time.
const TIMED_OUT: (u16, &str) = (504, "engine_timeout");
/// The problem of an engine with an invalid response.
const FAILED: (u16, &str) = (502, "engine_failed");

/// Response mode, description, expected problem, `sends_words` and `timeout`.
type Row = (ResponseMode, &'static str, (u16, &'static str), bool, u32);

const ROWS: [Row; 7] = [
    (ResponseMode::Hang, "hangs", TIMED_OUT, false, SLOW),
    (
        ResponseMode::RateLimited,
        "returns 429, Retry-After: 2",
        UNAVAILABLE,
        false,
        NORMAL,
    ),
    (
        ResponseMode::ServerError,
        "returns 500",
        UNAVAILABLE,
        false,
        NORMAL,
    ),
    (
        ResponseMode::Malformed,
        "returns malformed JSON",
        FAILED,
        false,
        NORMAL,
    ),
    (
        ResponseMode::Truncated,
        "closes the connection mid-stream",
        FAILED,
        true,
        NORMAL,
    ),
    (
        ResponseMode::ByteByByte,
        "sends a byte a second",
        TIMED_OUT,
        false,
        SLOW,
    ),
    (
        ResponseMode::Endless,
        "streams without end",
        FAILED,
        true,
        NORMAL,
    ),
];

impl Case {
    /// Returns all cases, by this upstream; `refusing` is an address without a listener.
    pub(super) fn all(upstream: &Upstream, refusing: SocketAddr) -> Vec<Self> {
        let refuses = Self {
            name: "refuses",
            description: "refuses connections",
            base_url: format!("http://{refusing}/v1"),
            status: UNAVAILABLE.0,
            code: UNAVAILABLE.1,
            sends_words: false,
            timeout: NORMAL,
        };
        let others = ROWS.map(
            |(mode, description, (status, code), sends_words, timeout)| Self {
                name: mode.name(),
                description,
                base_url: upstream.base_url(mode),
                status,
                code,
                sends_words,
                timeout,
            },
        );
        [refuses].into_iter().chain(others).collect()
    }

    /// The settings of the engine.
    pub(super) fn variables(&self) -> [(String, String); 2] {
        let name = self.name.to_uppercase();
        [
            (
                format!("LLM__PROVIDERS__{name}__BASE_URL"),
                self.base_url.clone(),
            ),
            (format!("LLM__PROVIDERS__{name}__MODEL"), "mock".to_owned()),
        ]
    }
}
