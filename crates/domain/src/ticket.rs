//! Tickets: good once, for half a minute, to open a socket from where no credential can be sent.

use std::{fmt, time::Duration};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::{CredentialId, LimitOverrides, Principal, SecretDigest, Standing, Timestamp, base62};

/// How long a ticket is good.
pub const LIFE: Duration = Duration::from_secs(30);

const PREFIX: &str = "agt_";
const DIGITS: usize = 43;

/// Whom a ticket lets in, and from where.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Ticket {
    /// Who fetched it, with what the ticket allows.
    pub principal: Principal,
    /// The credential of ours that it was fetched with; none for users of foreign issuers.
    pub credential: Option<CredentialId>,
    /// Browser origins that alone may use that credential; empty for any.
    pub allowed_origins: Vec<String>,
    /// The credential's own rate limits.
    pub limits: LimitOverrides,
    /// What it rests on.
    pub standing: Standing,
    /// When the secret or token ends that it was fetched with, if it does.
    pub credential_ends_at: Option<Timestamp>,
    /// The origin of the page that fetched it; none when no page did.
    pub origin: Option<String>,
}

/// The text is no ticket.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a ticket of this service")]
pub struct MalformedTicket;

/// A ticket as it is handed out: `agt_` and 43 base62 digits. Never stored, never logged: `Debug`
/// hides it.
#[derive(Clone, PartialEq, Eq)]
pub struct TicketText(String);

impl TicketText {
    /// A ticket out of random bytes.
    pub fn mint(random: &[u8; 32]) -> Self {
        Self(format!("{PREFIX}{}", base62::encode(random, DIGITS)))
    }

    /// Reads a ticket and checks its form, without asking anybody.
    pub fn parse(text: &str) -> Result<Self, MalformedTicket> {
        let digits = text.strip_prefix(PREFIX).ok_or(MalformedTicket)?;
        if digits.len() != DIGITS || !base62::is_base62(digits) {
            return Err(MalformedTicket);
        }
        Ok(Self(text.to_owned()))
    }

    /// What is stored in its place.
    pub fn digest(&self) -> SecretDigest {
        SecretDigest::new(Sha256::digest(self.0.as_bytes()).into())
    }

    /// The whole ticket, for the one moment in which it is shown.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for TicketText {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "TicketText({PREFIX}…)")
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn every_minted_ticket_is_read_back(random in any::<[u8; 32]>()) {
            let ticket = TicketText::mint(&random);
            prop_assert_eq!(TicketText::parse(ticket.reveal()), Ok(ticket));
        }

        #[test]
        fn never_panics_on_anything(text in "\\PC*") {
            let _ = TicketText::parse(&text);
        }
    }

    #[test]
    fn is_a_prefix_and_43_digits_and_nothing_else() {
        let good = format!("agt_{}", "7".repeat(43));
        assert!(TicketText::parse(&good).is_ok());
        for bad in [
            "",
            "agt_",
            &good[1..],
            &good[..46],
            &format!("{good}7"),
            &good.replace("agt_", "agk_"),
            &good.replace('_', "-"),
            &format!("agt_{}-", "7".repeat(42)),
            &format!("agt_{}é", "7".repeat(41)),
            &format!("{good} "),
        ] {
            assert_eq!(TicketText::parse(bad), Err(MalformedTicket), "{bad}");
        }
    }

    #[test]
    fn different_tickets_have_different_digests() {
        let digest = |byte| TicketText::mint(&[byte; 32]).digest();
        assert_ne!(digest(1), digest(2));
        assert_eq!(digest(1), digest(1));
    }

    #[test]
    fn debug_hides_it() {
        let ticket = TicketText::mint(&[7; 32]);
        assert_eq!(format!("{ticket:?}"), "TicketText(agt_…)");
    }
}
