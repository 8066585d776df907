//! Tickets: valid once, for 30 seconds, to open a WebSocket where no credential can be sent.

use std::{fmt, time::Duration};

use sha2::{Digest, Sha256};

use crate::{SecretDigest, base62};

/// The time for which a ticket is valid.
pub const LIFE: Duration = Duration::from_secs(30);

const PREFIX: &str = "agt_";
const DIGITS: usize = 43;

/// The error for a text that is not a ticket.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a ticket of this service")]
pub struct MalformedTicket;

/// The text of a ticket: `agt_` and 43 base62 digits. Never stored, never logged; `Debug` hides it.
#[derive(Clone, PartialEq, Eq)]
pub struct TicketText(String);

impl TicketText {
    /// Creates a ticket from random bytes.
    pub fn mint(random: &[u8; 32]) -> Self {
        Self(format!("{PREFIX}{}", base62::encode(random, DIGITS)))
    }

    /// Parses a ticket and checks its form, without a look-up in the store.
    pub fn parse(text: &str) -> Result<Self, MalformedTicket> {
        let digits = text.strip_prefix(PREFIX).ok_or(MalformedTicket)?;
        if digits.len() != DIGITS || !base62::is_base62(digits) {
            return Err(MalformedTicket);
        }
        Ok(Self(text.to_owned()))
    }

    /// Returns the digest that is stored in place of the ticket.
    pub fn digest(&self) -> SecretDigest {
        SecretDigest::new(Sha256::digest(self.0.as_bytes()).into())
    }

    /// Returns the whole ticket, for the one response that contains it.
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
        fn a_minted_ticket_is_parsed(random in any::<[u8; 32]>()) {
            let ticket = TicketText::mint(&random);
            prop_assert_eq!(TicketText::parse(ticket.reveal()), Ok(ticket));
        }

        #[test]
        fn parsing_never_panics(text in "\\PC*") {
            let _ = TicketText::parse(&text);
        }
    }

    #[test]
    fn a_ticket_is_a_prefix_and_43_digits() {
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
    fn debug_hides_the_ticket() {
        let ticket = TicketText::mint(&[7; 32]);
        assert_eq!(format!("{ticket:?}"), "TicketText(agt_…)");
    }
}
