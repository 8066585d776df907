//! The ways in which it breaks, and what must come of them.

use std::net::SocketAddr;

use crate::upstream::{Manner, Upstream};

/// A way to break.
#[derive(Debug, Clone)]
pub(super) struct Case {
    /// The engine's name, and the fault's.
    pub(super) name: &'static str,
    pub(super) done: &'static str,
    pub(super) base_url: String,
    pub(super) status: u16,
    pub(super) code: &'static str,
    /// Whether words are heard before it breaks: then nobody else may go on.
    pub(super) speaks: bool,
    /// Milliseconds that the agent gives an engine.
    pub(super) timeout: u32,
}

/// Longer than an engine may reasonably take: who does is down.
const SLOW: u32 = 11_000;
/// Enough for all repeats.
const USUAL: u32 = 9_000;

/// What an engine that cannot be asked is told as.
const UNAVAILABLE: (u16, &str) = (503, "engine_unavailable");
/// What an engine is told as that answers nothing in time.
const LATE: (u16, &str) = (504, "engine_timeout");
/// What an engine is told as whose answer is none.
const BAD: (u16, &str) = (502, "engine_failed");

/// In this manner it breaks so, and this is what is told of it, whether words are heard before, and
/// how long the agent waits.
type Row = (Manner, &'static str, (u16, &'static str), bool, u32);

const ROWS: [Row; 7] = [
    (Manner::Hangs, "hangs", LATE, false, SLOW),
    (
        Manner::RateLimited,
        "answers 429, Retry-After: 2",
        UNAVAILABLE,
        false,
        USUAL,
    ),
    (Manner::Fails, "answers 500", UNAVAILABLE, false, USUAL),
    (
        Manner::Malformed,
        "answers malformed JSON",
        BAD,
        false,
        USUAL,
    ),
    (Manner::Cut, "is cut mid-stream", BAD, true, USUAL),
    (Manner::Drips, "sends a byte a second", LATE, false, SLOW),
    (Manner::Endless, "never comes to an end", BAD, true, USUAL),
];

impl Case {
    /// All of them, by this upstream; nobody listens at `refusing`.
    pub(super) fn all(upstream: &Upstream, refusing: SocketAddr) -> Vec<Self> {
        let refuses = Self {
            name: "refuses",
            done: "refuses connections",
            base_url: format!("http://{refusing}/v1"),
            status: UNAVAILABLE.0,
            code: UNAVAILABLE.1,
            speaks: false,
            timeout: USUAL,
        };
        let others = ROWS.map(|(manner, done, (status, code), speaks, timeout)| Self {
            name: manner.name(),
            done,
            base_url: upstream.base_url(manner),
            status,
            code,
            speaks,
            timeout,
        });
        [refuses].into_iter().chain(others).collect()
    }

    /// What tells the service of the engine.
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
