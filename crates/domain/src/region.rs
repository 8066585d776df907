//! Regions: their names, their keys, and the signed requests of a far region to its home region.

mod forwarded_request;
mod streamed_body;

use std::{fmt, str::FromStr, sync::Arc};

use serde::{Deserialize, Serialize};

pub use forwarded_request::{ForwardedRequest, InvalidSignature, body_digest};
pub use streamed_body::{StreamedDigest, TRAILER_BYTES};

/// The minimum length of a key, in characters.
pub const MIN_KEY_LENGTH: usize = 32;

/// The challenge in the response to a forwarded request whose signature is not valid.
pub const REGION_CHALLENGE: &str = "Region";

/// The name of a region: 1 to 64 of `a-z`, `0-9` and `-`. Cheap to clone.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String")]
pub struct RegionName(Arc<str>);

/// The error for a text that is not the name of a region.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the name of a region is 1 to 64 of a-z, 0-9 and '-'")]
pub struct MalformedRegionName;

impl RegionName {
    /// Returns the name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for RegionName {
    type Err = MalformedRegionName;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        if text.is_empty() || text.len() > 64 || !text.bytes().all(allowed) {
            return Err(MalformedRegionName);
        }
        Ok(Self(text.into()))
    }
}

impl TryFrom<String> for RegionName {
    type Error = MalformedRegionName;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl fmt::Display for RegionName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// A region of the service.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct RegionEntry {
    /// The name; absent for a home region without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(value_type = Option<String>, nullable = false))]
    pub name: Option<RegionName>,
    /// The base URL for clients.
    #[cfg_attr(feature = "schema", schema(example = "https://eu.agents.example.org"))]
    pub url: String,
    /// True for the region of the primary database, where writes are decided.
    pub is_home: bool,
}

/// The secret with which a far region signs its requests. `Debug` hides it.
#[derive(Clone, PartialEq, Eq)]
pub struct RegionKey(Arc<[u8]>);

impl RegionKey {
    /// Parses a key: at least 32 visible ASCII characters without a comma.
    pub fn parse(text: &str) -> Option<Self> {
        let allowed = |byte: u8| byte.is_ascii_graphic() && byte != b',';
        let is_valid = text.len() >= MIN_KEY_LENGTH && text.bytes().all(allowed);
        is_valid.then(|| Self(text.as_bytes().into()))
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for RegionKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("RegionKey(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_keys_have_one_form() {
        assert_eq!("eu-1".parse::<RegionName>().unwrap().as_str(), "eu-1");
        for bad in ["", "EU", "eu_1", "e u", &"a".repeat(65)] {
            assert_eq!(bad.parse::<RegionName>(), Err(MalformedRegionName), "{bad}");
        }
        let key = RegionKey::parse(&"k".repeat(32)).unwrap();
        assert_eq!(format!("{key:?}"), "RegionKey(…)");
        for bad in ["k".repeat(31), "k k".repeat(20), "k,k".repeat(20)] {
            assert_eq!(RegionKey::parse(&bad), None, "{bad}");
        }
    }
}
