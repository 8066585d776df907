//! Who is let in.

use application::access::{Bootstrap, tokens::Issuer};
use domain::{CredentialKind, CredentialSecret};

use super::{ServerSettings, issuers, values::Values};

/// Who is let in.
#[derive(Debug, Clone)]
pub struct AuthSettings {
    /// `AUTH__BOOTSTRAP_KEY`: the first key of a store that has never held one.
    pub bootstrap: Option<Bootstrap>,
    /// `AUTH__ISSUERS__…`: identity providers whose users are let in.
    pub issuers: Vec<Issuer>,
}

impl AuthSettings {
    pub(super) fn read(values: &mut Values, server: &ServerSettings) -> Self {
        let expected = "the word mint, or an API key as `agent-service keys generate` prints it";
        Self {
            bootstrap: values.read_optional("AUTH__BOOTSTRAP_KEY", expected, bootstrap),
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
