//! Claims by dotted paths.

use std::{fmt, str::FromStr};

use serde_json::{Map, Value};

/// The maximum length of a path, in characters.
const MAX_CHARACTERS: usize = 256;

/// A path to a claim: member names with dots between them. The names may contain dots themselves:
/// `resource_access.my.client.roles` finds `roles` in `my.client` in `resource_access`, and
/// `https://example.org/roles` finds a claim with this name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimPath(String);

/// The error for a text that is not a path to a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a path to a claim is 1 to 256 characters, none of them blank")]
pub struct MalformedClaimPath;

impl ClaimPath {
    /// Finds the claim at the path. Longer names are tried before shorter ones, from the outermost
    /// level on, and the first match counts.
    pub fn find<'claims>(&self, claims: &'claims Map<String, Value>) -> Option<&'claims Value> {
        find(claims, &self.0)
    }
}

fn find<'claims>(members: &'claims Map<String, Value>, path: &str) -> Option<&'claims Value> {
    if let Some(found) = members.get(path) {
        return Some(found);
    }
    let dots = path.rmatch_indices('.');
    // No member is visited twice, because only one split of the path leads to it.
    dots.into_iter().find_map(|(at, dot)| {
        let inner = members.get(&path[..at])?.as_object()?;
        find(inner, &path[at + dot.len()..])
    })
}

impl FromStr for ClaimPath {
    type Err = MalformedClaimPath;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let is_well_formed = (1..=MAX_CHARACTERS).contains(&text.chars().count())
            && !text
                .contains(|character: char| character.is_whitespace() || character.is_control());
        is_well_formed
            .then(|| Self(text.to_owned()))
            .ok_or(MalformedClaimPath)
    }
}

impl fmt::Display for ClaimPath {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn finds_claims_whose_names_have_dots() {
        let claims = json!({
            "scope": 1,
            "realm_access": { "roles": 2 },
            "https://example.org/roles": 3,
            "resource_access": { "my.client": { "roles": 4 }, "my": { "other": 5 } },
            "a": { "b": { "c": 6 }, "b.c": 7 },
            "d": { "e": { "f": 8 } },
            "d.e": { "f": 9 },
            "text": "g",
        });
        for (path, expected) in [
            ("scope", Some(json!(1))),
            ("realm_access.roles", Some(json!(2))),
            ("https://example.org/roles", Some(json!(3))),
            ("resource_access.my.client.roles", Some(json!(4))),
            ("resource_access.my.other", Some(json!(5))),
            ("a.b.c", Some(json!(7))),
            ("d.e", Some(json!({ "f": 9 }))),
            ("d.e.f", Some(json!(9))),
            ("text.g", None),
            ("scope.", None),
            (".scope", None),
            ("roles", None),
        ] {
            let found = path.parse::<ClaimPath>().unwrap();
            let found = found.find(claims.as_object().unwrap());
            assert_eq!(found, expected.as_ref(), "{path}");
        }
    }

    #[test]
    fn empty_long_and_blank_paths_are_rejected() {
        for text in ["", "a b", "a\n", &"a".repeat(257)] {
            assert_eq!(text.parse::<ClaimPath>(), Err(MalformedClaimPath), "{text}");
        }
        assert!("a".repeat(256).parse::<ClaimPath>().is_ok());
    }
}
