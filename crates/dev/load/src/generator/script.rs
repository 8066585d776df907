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
    /// Whether a response with this status is the expected one.
    pub(super) fn includes(self, status: u16) -> bool {
        match self {
            Self::Success => (200..300).contains(&status),
            Self::RateLimited => status == 429,
        }
    }
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
            assert_eq!(Expected::Success.includes(status), is_success, "{status}");
            let includes = Expected::RateLimited.includes(status);
            assert_eq!(includes, is_rate_limited, "{status}");
        }
    }
}
