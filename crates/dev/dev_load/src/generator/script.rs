//! The requests of one connection, and the response that each must have.

use std::sync::Arc;

/// The requests of one connection. Clones share them.
#[derive(Clone)]
pub struct Script {
    requests: Arc<[Vec<u8>]>,
    is_repeated: bool,
    pub(super) expected: Expected,
}

/// The response that each request of a script must have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expected {
    /// 2xx
    Success,
    /// 2xx with this text in its body, as streams report errors in their bodies.
    Text(&'static str),
    /// 429
    RateLimited,
}

impl Script {
    /// A script that repeats these requests until the round ends; all must succeed.
    pub fn repeated(requests: Vec<Vec<u8>>) -> Self {
        Self {
            requests: requests.into(),
            is_repeated: true,
            expected: Expected::Success,
        }
    }

    /// A script that sends each of these requests once; all must succeed.
    pub fn once(requests: Vec<Vec<u8>>) -> Self {
        Self {
            is_repeated: false,
            ..Self::repeated(requests)
        }
    }

    /// The same requests, all of which must be rate limited.
    #[must_use]
    pub fn expect_rate_limit(self) -> Self {
        Self {
            expected: Expected::RateLimited,
            ..self
        }
    }

    /// The same requests, all of which must have this text in their responses.
    #[must_use]
    pub fn expect_text(self, text: &'static str) -> Self {
        Self {
            expected: Expected::Text(text),
            ..self
        }
    }

    /// The requests in the order of sending.
    pub(super) fn requests(&self) -> impl Iterator<Item = &Vec<u8>> {
        let repeated = if self.is_repeated {
            &*self.requests
        } else {
            &[]
        };
        self.requests.iter().chain(repeated.iter().cycle())
    }
}

impl Expected {
    /// Returns true if this is the expected response.
    pub(super) fn is_met_by(self, status: u16, body: &[u8]) -> bool {
        let is_success = (200..300).contains(&status);
        match self {
            Self::Success => is_success,
            Self::Text(text) => is_success && contains(body, text.as_bytes()),
            Self::RateLimited => status == 429,
        }
    }
}

fn contains(body: &[u8], text: &[u8]) -> bool {
    body.windows(text.len()).any(|window| window == text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rejection_is_no_success_and_a_success_no_rejection() {
        for (status, is_success, is_rate_limited) in [
            (200, true, false),
            (204, true, false),
            (304, false, false),
            (401, false, false),
            (429, false, true),
            (503, false, false),
        ] {
            let is_met = Expected::Success.is_met_by(status, b"");
            assert_eq!(is_met, is_success, "{status}");
            let is_met = Expected::RateLimited.is_met_by(status, b"");
            assert_eq!(is_met, is_rate_limited, "{status}");
        }
    }

    #[test]
    fn a_text_is_searched_in_successful_responses() {
        let expected = Expected::Text("end");
        assert!(expected.is_met_by(200, b"the end."));
        assert!(!expected.is_met_by(200, b"the error"));
        assert!(!expected.is_met_by(500, b"the end."));
    }
}
