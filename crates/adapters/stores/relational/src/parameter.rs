//! The values of a statement's parameters, which each store binds in the form of its database.

use std::time::Duration;

use domain::{
    AgentId, AgentReach, ConversationId, CredentialId, ErasureId, FileId, MessageId, NodeId,
    NoteId, Seq, TenantId, Timestamp, TurnId,
};
use serde_json::Value;
use uuid::Uuid;

/// The value of a parameter. `None` is null.
#[derive(Debug, Clone, Copy)]
pub enum Parameter<'a> {
    /// A text.
    Text(Option<&'a str>),
    /// An id.
    Id(Option<Uuid>),
    /// An integer.
    Number(Option<i64>),
    /// A time.
    Time(Option<Timestamp>),
    /// A truth value.
    Flag(bool),
    /// Binary data.
    Bytes(&'a [u8]),
    /// A JSON document.
    Json(Option<&'a Value>),
    /// A list of texts.
    Texts(Option<&'a [&'a str]>),
    /// A list of ids.
    Ids(Option<&'a [Uuid]>),
    /// A list of integers.
    Numbers(&'a [i64]),
}

/// Converts each of these types, and an `Option` of it, to a variant with an option.
macro_rules! from {
    ($($type:ty => $variant:ident $value:ident $into:expr;)*) => {$(
        impl<'a> From<$type> for Parameter<'a> {
            fn from($value: $type) -> Self {
                Self::$variant(Some($into))
            }
        }

        impl<'a> From<Option<$type>> for Parameter<'a> {
            fn from(value: Option<$type>) -> Self {
                Self::$variant(value.map(|$value| $into))
            }
        }
    )*};
}

from! {
    &'a str => Text text text;
    &'a TenantId => Text tenant tenant.as_str();
    &'a CredentialId => Text id id.as_str();
    Uuid => Id id id;
    AgentId => Id id id.uuid();
    ConversationId => Id id id.uuid();
    FileId => Id id id.uuid();
    NoteId => Id id id.uuid();
    ErasureId => Id id id.uuid();
    MessageId => Id id id.uuid();
    NodeId => Id id id.uuid();
    TurnId => Id id id.uuid();
    i64 => Number number number;
    Seq => Number seq seq.0;
    Duration => Number duration milliseconds(duration);
    Timestamp => Time time time;
    &'a Value => Json document document;
}

impl From<bool> for Parameter<'_> {
    fn from(flag: bool) -> Self {
        Self::Flag(flag)
    }
}

impl<'a> From<&'a [u8]> for Parameter<'a> {
    fn from(bytes: &'a [u8]) -> Self {
        Self::Bytes(bytes)
    }
}

impl<'a> From<&'a [Uuid]> for Parameter<'a> {
    fn from(ids: &'a [Uuid]) -> Self {
        Self::Ids(Some(ids))
    }
}

impl<'a> From<&'a [i64]> for Parameter<'a> {
    fn from(numbers: &'a [i64]) -> Self {
        Self::Numbers(numbers)
    }
}

/// The ids of the agents that can be reached; null for all.
pub(crate) fn agent_ids(reach: &AgentReach) -> Option<Vec<Uuid>> {
    let ids = reach.ids()?;
    Some(ids.iter().map(|id| id.uuid()).collect())
}

/// The unit of durations in statements. Time can be added to the longest one without overflow.
pub fn milliseconds(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX / 2)
}

/// A list of parameters from values of different types.
#[macro_export]
macro_rules! parameters {
    ($($value:expr),* $(,)?) => {
        &[$($crate::Parameter::from($value)),*]
    };
}
