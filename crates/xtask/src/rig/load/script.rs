//! What a connection says, and what it must hear.

use std::sync::Arc;

/// What one connection sends. Cheap to clone: the clones share the requests.
#[derive(Clone)]
pub(crate) struct Script {
    pub(super) requests: Arc<[Vec<u8>]>,
    pub(super) is_repeated: bool,
    pub(super) expected: Expected,
}

/// What every answer must be, or the round fails: a refusal is quick, and would pass for speed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Expected {
    /// 2xx
    Success,
    /// 429
    RateLimited,
}

impl Script {
    /// Sends these requests over and over; all succeed.
    pub(crate) fn repeated(requests: Vec<Vec<u8>>) -> Self {
        Self {
            requests: requests.into(),
            is_repeated: true,
            expected: Expected::Success,
        }
    }

    /// Sends each of these requests once; all succeed. A round ends when nothing is left to send.
    pub(crate) fn once(requests: Vec<Vec<u8>>) -> Self {
        Self {
            is_repeated: false,
            ..Self::repeated(requests)
        }
    }

    /// The same, but each of the requests comes too often.
    pub(crate) fn refused(self) -> Self {
        Self {
            expected: Expected::RateLimited,
            ..self
        }
    }

    /// The requests in the order in which they are sent.
    pub(super) fn play(&self) -> impl Iterator<Item = &Vec<u8>> {
        let again = if self.is_repeated {
            &*self.requests
        } else {
            &[]
        };
        self.requests.iter().chain(again.iter().cycle())
    }
}

impl Expected {
    /// Whether an answer with this status is what was expected.
    pub(super) fn is_met_by(self, status: u16) -> bool {
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
    fn a_script_is_played_once_or_over_and_over() {
        let requests = vec![vec![1], vec![2]];
        let once = Script::once(requests.clone());
        assert_eq!(once.play().collect::<Vec<_>>(), [&[1], &[2]]);
        let repeated = Script::repeated(requests);
        let first: Vec<_> = repeated.play().take(3).collect();
        assert_eq!(first, [&[1], &[2], &[1]]);
    }

    #[test]
    fn a_refusal_is_no_success_and_a_success_no_refusal() {
        for (status, succeeds, is_refused) in [
            (200, true, false),
            (204, true, false),
            (304, false, false),
            (401, false, false),
            (429, false, true),
            (503, false, false),
        ] {
            assert_eq!(Expected::Success.is_met_by(status), succeeds, "{status}");
            assert_eq!(
                Expected::RateLimited.is_met_by(status),
                is_refused,
                "{status}"
            );
        }
    }
}
