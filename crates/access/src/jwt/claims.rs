//! The claims of a token with a verified signature.

use std::{fmt, time::Duration};

use domain::Timestamp;
use serde_json::{Map, Value};

use crate::AccessError;

/// The accepted difference between the clocks of the issuer and this service.
pub const LEEWAY: Duration = Duration::from_secs(30);

/// The last second of the year 9999, in seconds since 1970.
const LAST_SECOND: f64 = 253_402_300_799.0;

/// The claims of a token. They exist only after the signature was verified.
#[derive(Clone, PartialEq)]
pub struct Claims(Map<String, Value>);

impl Claims {
    /// The claims of a token that was verified.
    pub(super) const fn new(members: Map<String, Value>) -> Self {
        Self(members)
    }

    /// Rejects a token that has expired or is not valid yet, with a tolerance of [`LEEWAY`].
    /// Returns the end of the token, without leeway.
    pub fn check_time(&self, now: Timestamp) -> Result<Timestamp, AccessError> {
        let ends_at = self.time("exp")?.ok_or(AccessError::Invalid)?;
        let starts_at = self.time("nbf")?;
        if starts_at.is_some_and(|start| start > now + LEEWAY) {
            return Err(AccessError::Invalid);
        }
        if now >= ends_at + LEEWAY {
            return Err(AccessError::Expired);
        }
        Ok(ends_at)
    }

    /// The claim with this name, if it is a string.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.0.get(name)?.as_str()
    }

    /// The audiences of the token. Empty if the claim is missing or malformed.
    pub fn audiences(&self) -> Vec<&str> {
        texts(self.0.get("aud"))
    }

    /// Returns true if a claim with this name exists. `null` counts as absent.
    pub fn contains(&self, name: &str) -> bool {
        self.0.get(name).is_some_and(|claim| !claim.is_null())
    }

    /// All claims by name.
    pub const fn members(&self) -> &Map<String, Value> {
        &self.0
    }

    /// Reads a claim in seconds since 1970, with or without a fraction, up to the year 9999.
    fn time(&self, name: &str) -> Result<Option<Timestamp>, AccessError> {
        let Some(claim) = self.0.get(name).filter(|claim| !claim.is_null()) else {
            return Ok(None);
        };
        let seconds = claim.as_f64().ok_or(AccessError::Invalid)?;
        if !(0.0..=LAST_SECOND).contains(&seconds) {
            return Err(AccessError::Invalid);
        }
        let since_1970 = Duration::from_secs_f64(seconds);
        Ok(Some(Timestamp::from_milliseconds(0) + since_1970))
    }
}

/// The texts of a claim that is a string or a list of strings. Empty if it is missing or malformed.
pub(crate) fn texts(claim: Option<&Value>) -> Vec<&str> {
    match claim {
        Some(Value::String(text)) => vec![text],
        Some(Value::Array(items)) => {
            let texts: Option<_> = items.iter().map(Value::as_str).collect();
            texts.unwrap_or_default()
        }
        _ => Vec::new(),
    }
}

impl fmt::Debug for Claims {
    /// Shows no claims, because they are personal data.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Claims").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const NOW: Timestamp = Timestamp::from_milliseconds(1_795_167_000_000);
    const NOW_SECONDS: i64 = 1_795_167_000;

    fn claims(value: Value) -> Claims {
        match value {
            Value::Object(members) => Claims::new(members),
            other => panic!("{other} is not an object"),
        }
    }

    #[test]
    fn a_token_ends_at_exp_and_is_accepted_thirty_seconds_longer() {
        for (exp, expected) in [
            (json!(NOW_SECONDS + 600), Some(600_000)),
            (json!(NOW_SECONDS - 29), Some(-29_000)),
            (json!(1_795_166_970.5), Some(-29_500)),
            (json!(NOW_SECONDS - 30), None),
            (json!(0), None),
        ] {
            let outcome = claims(json!({ "exp": exp })).check_time(NOW);
            let after = outcome.map(|end| end.milliseconds() - NOW.milliseconds());
            match expected {
                Some(milliseconds) => assert_eq!(after.unwrap(), milliseconds),
                None => assert!(matches!(after, Err(AccessError::Expired)), "{exp}"),
            }
        }
    }

    #[test]
    fn a_token_without_a_valid_exp_is_rejected() {
        for members in [
            json!({}),
            json!({ "exp": null }),
            json!({ "exp": "1795168000" }),
            json!({ "exp": [1_795_168_000] }),
            json!({ "exp": -1 }),
            json!({ "exp": 1e300 }),
        ] {
            let outcome = claims(members.clone()).check_time(NOW);
            assert!(matches!(outcome, Err(AccessError::Invalid)), "{members}");
        }
    }

    #[test]
    fn a_token_that_starts_more_than_thirty_seconds_later_is_rejected() {
        for (nbf, is_good) in [
            (json!(NOW_SECONDS - 600), true),
            (json!(NOW_SECONDS + 30), true),
            (json!(NOW_SECONDS + 31), false),
            (json!("1795166000"), false),
            (json!(null), true),
        ] {
            let members = json!({ "exp": NOW_SECONDS + 600, "nbf": nbf });
            assert_eq!(claims(members).check_time(NOW).is_ok(), is_good, "{nbf}");
        }
    }

    #[test]
    fn audiences_are_a_string_or_a_list_of_strings() {
        for (aud, expected) in [
            (json!("a"), vec!["a"]),
            (json!(["a", "b"]), vec!["a", "b"]),
            (json!(["a", 1]), vec![]),
            (json!(1), vec![]),
            (json!({ "a": "a" }), vec![]),
        ] {
            assert_eq!(claims(json!({ "aud": aud })).audiences(), expected);
        }
        assert_eq!(claims(json!({})).audiences(), Vec::<&str>::new());
    }
}
