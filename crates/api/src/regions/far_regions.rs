//! The far regions of a home region, and the requests that they forward.

use std::{collections::HashMap, sync::Arc, time::Duration};

use domain::{ForwardedRequest, RegionKey, RegionName, Timestamp};
use parking_lot::Mutex;
use ports::Clock;
use uuid::Uuid;

use crate::settings::FarRegion;

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
pub enum RejectedRequest {
    /// Its signature is not valid.
    #[error(transparent)]
    Signature(#[from] domain::region::InvalidSignature),
    /// It was received before.
    #[error("the request was received before")]
    Repeated,
}

impl FarRegions {
    /// Accepts the requests of these regions.
    pub fn new(regions: &[FarRegion], clock: Arc<dyn Clock>) -> Self {
        let keys = regions.iter();
        let keys = keys.map(|region| (region.name.clone(), region.keys.clone()));
        Self {
            keys: keys.collect(),
            clock,
            seen: Mutex::default(),
        }
    }

    /// Verifies the signed head of a request, and accepts each request once.
    pub fn admit(
        &self,
        head: &str,
        method: &str,
        path: &str,
    ) -> Result<ForwardedRequest, RejectedRequest> {
        let now = self.clock.now();
        let keys = |region: &RegionName| self.keys.get(region).map_or(&[][..], Vec::as_slice);
        let request = ForwardedRequest::verify(head, method, path, now, keys)?;
        if !self.seen.lock().insert(&request, now) {
            return Err(RejectedRequest::Repeated);
        }
        Ok(request)
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

    #[test]
    fn a_request_is_accepted_once() {
        let key = RegionKey::parse(&"k".repeat(32)).unwrap();
        let eu = FarRegion {
            name: "eu".parse().unwrap(),
            keys: vec![key.clone()],
            url: String::new(),
        };
        let (clock, _) = crate::wiring::system();
        let now = clock.now().milliseconds();
        let regions = FarRegions::new(&[eu], clock);
        let head = request(1, now).sign(&key, "GET", "/");
        let admit = || regions.admit(&head, "GET", "/");
        assert!(admit().is_ok());
        assert!(matches!(admit(), Err(RejectedRequest::Repeated)));
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
