//! The user ids that belong to external issuers.

use std::collections::BTreeSet;

use super::IssuerId;

/// The user ids that belong to external issuers: those that begin with the id of a configured issuer
/// and `~`. This service issues no tokens for them, because two different people could then have the
/// same conversations.
#[derive(Debug, Clone, Default)]
pub struct ReservedUserIds(BTreeSet<String>);

impl ReservedUserIds {
    /// Returns true if the id belongs to a user of an external issuer.
    pub fn contains(&self, user_id: &str) -> bool {
        let issuer = user_id.split_once('~').map(|(issuer, _)| issuer);
        issuer.is_some_and(|issuer| self.0.contains(issuer))
    }
}

impl FromIterator<IssuerId> for ReservedUserIds {
    fn from_iter<I: IntoIterator<Item = IssuerId>>(issuers: I) -> Self {
        let ids = issuers.into_iter().map(|issuer| issuer.as_str().to_owned());
        Self(ids.collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_ids_with_a_configured_issuer_are_reserved() {
        let issuers = ["main", "b2b"].map(|id| id.parse().expect("an id"));
        let reserved = ReservedUserIds::from_iter(issuers);
        for id in ["main~ada", "main~", "b2b~x~y"] {
            assert!(reserved.contains(id), "{id}");
        }
        for id in [
            "main",
            "ada",
            "other~ada",
            "Main~ada",
            " main~ada",
            "~ada",
            "",
        ] {
            assert!(!reserved.contains(id), "{id}");
        }
    }
}
