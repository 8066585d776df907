//! The signed head of a request that a far region sends to its home region.

use std::{net::IpAddr, time::Duration};

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use hmac::{Hmac, KeyInit as _, Mac as _};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use uuid::Uuid;

use super::{RegionKey, RegionName};
use crate::{CallerClaims, Timestamp};

/// The head of a forwarded request. Method, URL and body belong to it, so that a signature is valid
/// for one request only.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ForwardedRequest {
    /// The region that forwards it.
    pub region: RegionName,
    /// The time at which it was signed, by the clock of that region.
    pub sent_at: Timestamp,
    /// A random id, by which a repeated request is recognised.
    pub id: Uuid,
    /// The address of the client, if known.
    #[serde(default)]
    pub client_address: Option<IpAddr>,
    /// The authenticated caller; `None` if the request carries its own credential, or none.
    #[serde(default)]
    pub caller: Option<CallerClaims>,
    /// The digest of the body, as [`body_digest`] returns it, or [`Self::STREAMED`].
    pub body_digest: String,
}

/// The reason why a forwarded request is rejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InvalidSignature {
    /// The head is malformed.
    #[error("the head of the forwarded request is malformed")]
    Malformed,
    /// The region is unknown, or none of its keys has signed the request.
    #[error("no key of the region has signed the request")]
    Unknown,
    /// The request is older or newer than it may be.
    #[error("the request was signed at another time; compare the clocks of both regions")]
    OtherTime,
}

impl ForwardedRequest {
    /// The maximum difference between the time of signing and the time of arrival.
    pub const MAX_AGE: Duration = Duration::from_secs(30);
    /// In place of a digest: the body ends with a trailer.
    pub const STREAMED: &str = "trailer";

    /// Returns the head with its signature, for a request of this method to this path with its
    /// query.
    pub fn sign(&self, key: &RegionKey, method: &str, path: &str) -> String {
        // All fields are serialisable.
        let payload = serde_json::to_vec(self).unwrap_or_default();
        let payload = URL_SAFE_NO_PAD.encode(payload);
        let signature = signature(key, method, path, &payload).finalize();
        let signature = URL_SAFE_NO_PAD.encode(signature.into_bytes());
        format!("{payload}.{signature}")
    }

    /// Verifies a head that arrives at `now`. `keys` are the keys of a region.
    pub fn verify<'a>(
        text: &str,
        method: &str,
        path: &str,
        now: Timestamp,
        keys: impl FnOnce(&RegionName) -> &'a [RegionKey],
    ) -> Result<Self, InvalidSignature> {
        let malformed = InvalidSignature::Malformed;
        let (payload, signed) = text.split_once('.').ok_or(malformed)?;
        let decode = |text: &str| URL_SAFE_NO_PAD.decode(text).ok();
        let signed = decode(signed).ok_or(malformed)?;
        let content = decode(payload).ok_or(malformed)?;
        let head: Self = serde_json::from_slice(&content).ok().ok_or(malformed)?;
        let is_by = |key| {
            let expected = signature(key, method, path, payload);
            expected.verify_slice(&signed).is_ok()
        };
        if !keys(&head.region).iter().any(is_by) {
            return Err(InvalidSignature::Unknown);
        }
        let distance = head.sent_at.milliseconds().abs_diff(now.milliseconds());
        if u128::from(distance) > Self::MAX_AGE.as_millis() {
            return Err(InvalidSignature::OtherTime);
        }
        Ok(head)
    }

    /// Returns true if the body ends with a trailer, as [`StreamedDigest`](super::StreamedDigest) returns it.
    pub fn is_streamed(&self) -> bool {
        self.body_digest == Self::STREAMED
    }

    /// Returns true if the request has this body.
    pub fn has_body(&self, body: &[u8]) -> bool {
        self.body_digest == body_digest(body)
    }
}

/// Returns the digest of a body, as the head contains it.
pub fn body_digest(body: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(Sha256::digest(body))
}

fn signature(key: &RegionKey, method: &str, path: &str, payload: &str) -> Hmac<Sha256> {
    let hmac = Hmac::<Sha256>::new_from_slice(key.bytes());
    let mut hmac = hmac.expect("HMAC takes keys of any length");
    for part in [method, "\n", path, "\n", payload] {
        hmac.update(part.as_bytes());
    }
    hmac
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const NOW: Timestamp = Timestamp::from_milliseconds(1_000_000);

    fn key(letter: &str) -> RegionKey {
        RegionKey::parse(&letter.repeat(40)).unwrap()
    }

    fn head() -> ForwardedRequest {
        ForwardedRequest {
            region: "eu".parse().unwrap(),
            sent_at: NOW,
            id: Uuid::max(),
            client_address: Some([192, 0, 2, 1].into()),
            caller: None,
            body_digest: body_digest(b"body"),
        }
    }

    fn verified(text: &str, path: &str, now: i64) -> Result<ForwardedRequest, InvalidSignature> {
        let keys = [key("a"), key("b")];
        let now = Timestamp::from_milliseconds(now);
        let of_region = |region: &RegionName| match region.as_str() {
            "eu" => &keys[..],
            _ => &[],
        };
        ForwardedRequest::verify(text, "POST", path, now, of_region)
    }

    #[test]
    fn a_request_is_verified_by_any_key_of_its_region() {
        for letter in ["a", "b"] {
            let text = head().sign(&key(letter), "POST", "/api/agents?a=b");
            assert_eq!(verified(&text, "/api/agents?a=b", 1_000_000), Ok(head()));
        }
        assert!(head().has_body(b"body") && !head().has_body(b""));
        let streamed = ForwardedRequest {
            body_digest: ForwardedRequest::STREAMED.to_owned(),
            ..head()
        };
        assert!(streamed.is_streamed() && !head().is_streamed());
    }

    #[test]
    fn another_key_url_region_or_time_is_rejected() {
        let (unknown, late) = (InvalidSignature::Unknown, InvalidSignature::OtherTime);
        let text = head().sign(&key("c"), "POST", "/a");
        assert_eq!(verified(&text, "/a", 1_000_000), Err(unknown));
        let text = head().sign(&key("a"), "POST", "/a");
        assert_eq!(verified(&text, "/a?b", 1_000_000), Err(unknown));
        for now in [969_999, 1_030_001] {
            assert_eq!(verified(&text, "/a", now), Err(late), "{now}");
        }
        for now in [970_000, 1_030_000] {
            assert!(verified(&text, "/a", now).is_ok(), "{now}");
        }
        let text = head().sign(&key("a"), "GET", "/a");
        assert_eq!(verified(&text, "/a", 1_000_000), Err(unknown));
        let region = "us".parse().unwrap();
        let text = ForwardedRequest { region, ..head() }.sign(&key("a"), "POST", "/a");
        assert_eq!(verified(&text, "/a", 1_000_000), Err(unknown));
    }

    proptest! {
        #[test]
        fn an_altered_head_is_rejected(index in 0..200_usize, letter in "[A-Za-z0-9_.-]") {
            let text = head().sign(&key("a"), "POST", "/a");
            let mut altered = text.clone();
            altered.replace_range(index..=index, &letter);
            prop_assert!(altered == text || verified(&altered, "/a", 1_000_000).is_err());
        }

        #[test]
        fn verifying_never_panics(text in "\\PC*") {
            prop_assert!(verified(&text, "/a", 1_000_000).is_err());
        }
    }
}
