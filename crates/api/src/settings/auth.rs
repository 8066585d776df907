//! Who is let in.

use application::access::Bootstrap;
use domain::{CredentialKind, CredentialSecret};

use super::values::Values;

/// Who is let in.
#[derive(Debug, Clone)]
pub struct AuthSettings {
    /// `AUTH__BOOTSTRAP_KEY`: the first key of a store that has never held one.
    pub bootstrap: Option<Bootstrap>,
}

impl AuthSettings {
    pub(super) fn read(values: &mut Values) -> Self {
        let expected = "the word mint, or an API key as `agent-service keys generate` prints it";
        Self {
            bootstrap: values.read_optional("AUTH__BOOTSTRAP_KEY", expected, bootstrap),
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
