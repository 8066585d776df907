//! Typed ids: UUIDs, opaque to clients, and not interchangeable in code.
//!
//! Those in the API are UUIDv7. Keys of blobs and ids of their stores are UUIDv4.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};
use uuid::{Builder, Uuid};

/// The error for a text that is not an id of this service. Callers treat it like an unknown id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not an id")]
pub struct MalformedId;

/// The regular expression of the only accepted spelling.
pub const UUID_PATTERN: &str = "^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$";

/// Parses the only accepted spelling: 36 characters, lower case, hyphenated. A second spelling of
/// the same id would give one resource two addresses.
fn parse_canonical(text: &str) -> Result<Uuid, MalformedId> {
    if text.len() != 36 || text.bytes().any(|byte| byte.is_ascii_uppercase()) {
        return Err(MalformedId);
    }
    Uuid::parse_str(text).or(Err(MalformedId))
}

macro_rules! typed_id {
    ($(#[doc = $doc:literal] $name:ident,)*) => {$(
        #[doc = $doc]
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(Uuid);

        impl $name {
            /// Wraps an id from the `IdSource` port or from a store.
            pub const fn new(id: Uuid) -> Self {
                Self(id)
            }

            /// Returns the id in its stored form.
            pub const fn uuid(self) -> Uuid {
                self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.hyphenated().fmt(formatter)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(formatter, "{}({})", stringify!($name), self.0)
            }
        }

        impl FromStr for $name {
            type Err = MalformedId;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                parse_canonical(text).map(Self)
            }
        }

        #[cfg(feature = "schema")]
        impl utoipa::PartialSchema for $name {
            fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::schema::Schema> {
                id_schema()
            }
        }

        #[cfg(feature = "schema")]
        impl utoipa::ToSchema for $name {}
    )*};
}

typed_id! {
    /// The id of an agent.
    AgentId,
    /// The id of a conversation.
    ConversationId,
    /// The id of a message.
    MessageId,
    /// The id of a note in a conversation.
    NoteId,
    /// The id of a file.
    FileId,
    /// The id of an erasure of a user's data.
    ErasureId,
    /// The id of a turn.
    TurnId,
    /// The id of one running process; new at each start.
    NodeId,
    /// The key of a blob: random, so that it tells nothing about its content, its owner or its age.
    BlobKey,
    /// The id of a blob store, which is kept in it and in the database that belongs to it.
    BlobStoreId,
}

impl BlobKey {
    /// Makes a key, a UUIDv4, of 16 bytes from the `IdSource` port.
    pub const fn from_random(bytes: [u8; 16]) -> Self {
        Self(Builder::from_random_bytes(bytes).into_uuid())
    }
}

impl BlobStoreId {
    /// Makes an id, a UUIDv4, of 16 bytes from the `IdSource` port.
    pub const fn from_random(bytes: [u8; 16]) -> Self {
        Self(Builder::from_random_bytes(bytes).into_uuid())
    }
}

impl NodeId {
    /// An id that no process has. The turns of such a process are those of a dead one.
    pub const UNKNOWN: Self = Self(Uuid::nil());
}

/// Returns the schema of a plain string: the format of ids is no part of the API.
#[cfg(feature = "schema")]
fn id_schema() -> utoipa::openapi::RefOr<utoipa::openapi::schema::Schema> {
    utoipa::openapi::ObjectBuilder::new()
        .schema_type(utoipa::openapi::schema::Type::String)
        .description(Some("An opaque id."))
        .max_length(Some(64))
        .examples([serde_json::json!("019aa0c2-7f3e-7cc1-9a52-0b6d2f1c8e11")])
        .build()
        .into()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("019aa0c2-7f3e-7cc1-9a52-0b6d2f1c8e11", true)]
    #[case("019AA0C2-7F3E-7CC1-9A52-0B6D2F1C8E11", false)]
    #[case("019aa0c27f3e7cc19a520b6d2f1c8e11", false)]
    #[case("{019aa0c2-7f3e-7cc1-9a52-0b6d2f1c8e1}", false)]
    #[case("", false)]
    fn only_one_spelling_is_accepted(#[case] text: &str, #[case] accepted: bool) {
        assert_eq!(text.parse::<AgentId>().is_ok(), accepted);
    }

    #[test]
    fn keys_of_blobs_and_ids_of_their_stores_are_random_uuids() {
        for id in [
            BlobKey::from_random([0xff; 16]).uuid(),
            BlobStoreId::from_random([7; 16]).uuid(),
        ] {
            assert_eq!(id.get_version_num(), 4);
            assert_eq!(id.get_variant(), uuid::Variant::RFC4122);
        }
    }
}
