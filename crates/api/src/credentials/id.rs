//! Ids in the paths of keys and clients.

use std::str::FromStr;

use domain::{CredentialId, ProblemCode, credential::MalformedCredentialId};

use crate::request::Named;

/// Names a key.
#[derive(Debug, Clone)]
pub struct KeyId(pub CredentialId);

/// Names a client.
#[derive(Debug, Clone)]
pub struct ClientId(pub CredentialId);

impl FromStr for KeyId {
    type Err = MalformedCredentialId;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.parse().map(Self)
    }
}

impl FromStr for ClientId {
    type Err = MalformedCredentialId;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.parse().map(Self)
    }
}

impl Named for KeyId {
    const NOT_FOUND: ProblemCode = ProblemCode::KeyNotFound;
}

impl Named for ClientId {
    const NOT_FOUND: ProblemCode = ProblemCode::ClientNotFound;
}
