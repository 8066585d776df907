//! Ids in the paths of keys and clients.

use std::{marker::PhantomData, str::FromStr};

use domain::{CredentialId, ProblemCode, credential::MalformedCredentialId};
use kit::{problem, request::ResourceId};

use super::view::View;

/// The id of a credential of the kind that `V` represents.
#[derive(Debug, Clone)]
pub struct CredentialPathId<V> {
    /// The id.
    pub id: CredentialId,
    view: PhantomData<V>,
}

impl<V> FromStr for CredentialPathId<V> {
    type Err = MalformedCredentialId;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let id = text.parse()?;
        let view = PhantomData;
        Ok(Self { id, view })
    }
}

impl<V: View> ResourceId for CredentialPathId<V> {
    const NOT_FOUND: ProblemCode = problem::not_found(V::KIND);
}
