//! Who is let in.

use std::time::Duration;

use application::access::{Bootstrap, server::EncryptionKey, tokens::Issuer};
use domain::{CredentialKind, CredentialSecret};

use super::{ServerSettings, issuers, values::Values};

/// Who is let in.
#[derive(Debug, Clone)]
pub struct AuthSettings {
    /// `AUTH__BOOTSTRAP_KEY`: the first key of a store that has never held one.
    pub bootstrap: Option<Bootstrap>,
    /// `AUTH__ENCRYPTION_KEY`: with it the private halves of signing keys are stored encrypted.
    pub encryption_key: Option<EncryptionKey>,
    /// `AUTH__SIGNING_KEY_DAYS`: how old a signing key gets.
    pub signing_key_age: Duration,
    /// `AUTH__ISSUERS__…`: identity providers whose users are let in.
    pub issuers: Vec<Issuer>,
}

impl AuthSettings {
    pub(super) fn read(values: &mut Values, server: &ServerSettings) -> Self {
        let expected = "the word mint, or an API key as `agent-service keys generate` prints it";
        Self {
            bootstrap: values.read_optional("AUTH__BOOTSTRAP_KEY", expected, bootstrap),
            encryption_key: values.read_optional(
                "AUTH__ENCRYPTION_KEY",
                "32 bytes in base64 or base64url, as `openssl rand -base64 32` prints them",
                EncryptionKey::parse,
            ),
            signing_key_age: Duration::from_hours(
                24 * values.read_number("AUTH__SIGNING_KEY_DAYS", 30, 1..=3_650),
            ),
            issuers: issuers::read(values, &server.public_url(server.address())),
        }
    }
}

fn bootstrap(text: &str) -> Option<Bootstrap> {
    if text == "mint" {
        return Some(Bootstrap::Mint);
    }
    CredentialSecret::parse(CredentialKind::Key, text)
        .ok()
        .map(Bootstrap::Given)
}
