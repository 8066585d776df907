//! The far regions of a home region, and the requests that they forward.

use std::{collections::HashMap, sync::Arc, time::Duration};

use domain::{ForwardedRequest, RegionKey, RegionName, Timestamp, region::StreamedDigest};
use parking_lot::Mutex;
use ports::Clock;
use uuid::Uuid;

/// The number of remembered requests at which old ones are forgotten.
const FORGET_AT: usize = 1_024;

/// The far regions of a home region.
pub struct FarRegions {
    keys: HashMap<RegionName, Vec<RegionKey>>,
    clock: Arc<dyn Clock>,
    seen: Mutex<SeenRequests>,
}

/// The ids of the requests that were accepted, for as long as a copy of one would be accepted.
#[derive(Default)]
struct SeenRequests {
    by_id: HashMap<Uuid, Timestamp>,
    forget_at: usize,
}

/// The reason why a forwarded request is rejected, for the log.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RejectedRequest {
    /// Its signature is not valid.
    #[error(transparent)]
    Signature(#[from] domain::region::InvalidSignature),
    /// It was received before.
    #[error("the request was received before")]
    Repeated,
}

impl FarRegions {
    /// Accepts the requests of regions with these keys.
    pub fn new(keys: HashMap<RegionName, Vec<RegionKey>>, clock: Arc<dyn Clock>) -> Self {
        Self {
            keys,
            clock,
            seen: Mutex::default(),
        }
    }

    /// Verifies the signed head of a request, and accepts each request once.
    pub(crate) fn admit(
        &self,
        head: &str,
        method: &str,
        path: &str,
    ) -> Result<ForwardedRequest, RejectedRequest> {
        let now = self.clock.now();
        let request =
            ForwardedRequest::verify(head, method, path, now, |region| self.keys_of(region))?;
        if !self.seen.lock().insert(&request, now) {
            return Err(RejectedRequest::Repeated);
        }
        Ok(request)
    }

    /// Returns true if a body that was streamed with this head, by this region, has this trailer.
    pub fn has_trailer(
        &self,
        region: &RegionName,
        head: &str,
        digest: StreamedDigest,
        trailer: &[u8],
    ) -> bool {
        digest.has_trailer(head, self.keys_of(region), trailer)
    }

    fn keys_of(&self, region: &RegionName) -> &[RegionKey] {
        self.keys.get(region).map_or(&[], Vec::as_slice)
    }
}

impl SeenRequests {
    /// Returns false if the request was received before.
    fn insert(&mut self, request: &ForwardedRequest, now: Timestamp) -> bool {
        if self.by_id.len() >= self.forget_at.max(FORGET_AT) {
            self.by_id.retain(|_, until| *until >= now);
            self.forget_at = self.by_id.len() * 2;
        }
        let until = request.sent_at + ForwardedRequest::MAX_AGE + Duration::from_secs(1);
        self.by_id.insert(request.id, until).is_none()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicI64, Ordering};

    use domain::region::body_digest;

    use super::*;

    fn request(id: u128, sent_at: i64) -> ForwardedRequest {
        ForwardedRequest {
            region: "eu".parse().unwrap(),
            sent_at: Timestamp::from_milliseconds(sent_at),
            id: Uuid::from_u128(id),
            client_address: None,
            caller: None,
            body_digest: body_digest(b""),
        }
    }

    /// A clock that the test sets, in milliseconds.
    #[derive(Default)]
    struct TestClock(AtomicI64);

    impl TestClock {
        fn advance(&self, milliseconds: i64) {
            self.0.fetch_add(milliseconds, Ordering::Relaxed);
        }
    }

    impl Clock for TestClock {
        fn now(&self) -> Timestamp {
            Timestamp::from_milliseconds(self.0.load(Ordering::Relaxed))
        }

        fn running_for(&self) -> Duration {
            Duration::ZERO
        }
    }

    /// The home region of one far region.
    struct Fixture {
        key: RegionKey,
        clock: Arc<TestClock>,
        regions: FarRegions,
    }

    impl Fixture {
        fn new() -> Self {
            let key = RegionKey::parse(&"k".repeat(32)).unwrap();
            let keys = HashMap::from([("eu".parse().unwrap(), vec![key.clone()])]);
            let clock = Arc::new(TestClock(AtomicI64::new(1_000_000)));
            let regions = FarRegions::new(keys, Arc::clone(&clock) as _);
            Self {
                key,
                clock,
                regions,
            }
        }

        /// Signs a request that was sent so long after the current time, in milliseconds.
        fn sign(&self, id: u128, sent_after: i64) -> String {
            let sent_at = self.clock.now().milliseconds() + sent_after;
            request(id, sent_at).sign(&self.key, "GET", "/")
        }

        fn admit(&self, head: &str) -> Result<(), RejectedRequest> {
            self.regions.admit(head, "GET", "/").map(drop)
        }
    }

    #[test]
    fn a_request_is_accepted_once_however_long_it_is_repeated() {
        for sent_after in [-30_000, 0, 30_000] {
            let fixture = Fixture::new();
            let head = fixture.sign(1, sent_after);
            fixture.admit(&head).unwrap();
            assert!(matches!(
                fixture.admit(&head),
                Err(RejectedRequest::Repeated)
            ));
            let mut next = 2;
            for _ in 0..20 {
                // Many others, so that old ones are forgotten.
                for _ in 0..FORGET_AT / 4 {
                    fixture.admit(&fixture.sign(next, 0)).unwrap();
                    next += 1;
                }
                fixture.clock.advance(5_000);
                assert!(fixture.admit(&head).is_err(), "{sent_after}");
            }
            let most = FORGET_AT / 4 * 8 * 2;
            let remembered = fixture.regions.seen.lock().by_id.len();
            assert!(remembered <= most, "{remembered} of {next}");
        }
    }

    #[test]
    fn an_old_request_is_rejected_and_one_of_a_clock_that_is_ahead_too() {
        let fixture = Fixture::new();
        for sent_after in [-30_001, 30_001] {
            let rejected = fixture.admit(&fixture.sign(1, sent_after));
            assert!(matches!(rejected, Err(RejectedRequest::Signature(_))));
        }
        // It was not recorded.
        fixture.admit(&fixture.sign(1, 0)).unwrap();
    }

    #[test]
    fn requests_are_remembered_while_copies_would_be_accepted_and_then_forgotten() {
        let mut seen = SeenRequests::default();
        let number = 10 * FORGET_AT;
        let mut most = 0;
        for index in 0..number {
            // One request a second.
            let at = i64::try_from(index * 1_000).unwrap();
            let now = Timestamp::from_milliseconds(at);
            let id = u128::try_from(index).unwrap();
            assert!(seen.insert(&request(id, at), now));
            assert!(!seen.insert(&request(id, at), now));
            most = most.max(seen.by_id.len());
        }
        assert!(most <= FORGET_AT, "{most}");
    }
}
