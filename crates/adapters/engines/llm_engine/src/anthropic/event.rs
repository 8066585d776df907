//! Events of a stream, and whole responses.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::{Value, value::RawValue};

use super::usage::SentCounts;
use crate::lenient;

/// One event. Which members it has depends on its type.
#[derive(Default, Deserialize)]
pub(super) struct Event<'a> {
    #[serde(
        default,
        rename = "type",
        borrow,
        deserialize_with = "lenient::borrowed_text"
    )]
    pub(super) kind: Cow<'a, str>,
    #[serde(default, deserialize_with = "lenient::index")]
    pub(super) index: Option<u32>,
    /// The beginning of a message.
    #[serde(default, borrow)]
    pub(super) message: Option<Message<'a>>,
    #[serde(default, borrow)]
    pub(super) content_block: Option<&'a RawValue>,
    #[serde(default, borrow)]
    pub(super) delta: Option<Delta<'a>>,
    #[serde(default, borrow)]
    pub(super) usage: Option<SentCounts<'a>>,
    #[serde(default)]
    pub(super) error: Option<Value>,
}

impl<'a> Event<'a> {
    /// The text of an event that consists of text without escapes.
    pub(super) fn plain_text(&self) -> Option<&'a str> {
        match &self.delta {
            Some(Delta {
                kind: Cow::Borrowed("text_delta"),
                text: Cow::Borrowed(text),
                ..
            }) if self.kind == "content_block_delta" => Some(text),
            _ => None,
        }
    }
}

/// An addition to a block, or to the message.
#[derive(Default, Deserialize)]
pub(super) struct Delta<'a> {
    #[serde(
        default,
        rename = "type",
        borrow,
        deserialize_with = "lenient::borrowed_text"
    )]
    pub(super) kind: Cow<'a, str>,
    #[serde(default, borrow, deserialize_with = "lenient::borrowed_text")]
    pub(super) text: Cow<'a, str>,
    #[serde(default, borrow, deserialize_with = "lenient::borrowed_text")]
    pub(super) thinking: Cow<'a, str>,
    #[serde(default, borrow, deserialize_with = "lenient::borrowed_text")]
    pub(super) signature: Cow<'a, str>,
    /// A piece of the arguments of a call.
    #[serde(default, deserialize_with = "lenient::text")]
    pub(super) partial_json: Option<String>,
    #[serde(default, deserialize_with = "lenient::text")]
    pub(super) stop_reason: Option<String>,
}

/// A response that is not streamed, or the beginning of one that is.
#[derive(Default, Deserialize)]
pub(super) struct Message<'a> {
    #[serde(default, borrow, deserialize_with = "lenient::borrowed_text")]
    pub(super) model: Cow<'a, str>,
    #[serde(default, borrow)]
    pub(super) content: Option<Vec<&'a RawValue>>,
    #[serde(default, deserialize_with = "lenient::text")]
    pub(super) stop_reason: Option<String>,
    #[serde(default, borrow)]
    pub(super) usage: Option<SentCounts<'a>>,
}

/// A block, or the beginning of one.
#[derive(Default, Deserialize)]
pub(super) struct Block<'a> {
    #[serde(
        default,
        rename = "type",
        borrow,
        deserialize_with = "lenient::borrowed_text"
    )]
    pub(super) kind: Cow<'a, str>,
    #[serde(default, borrow, deserialize_with = "lenient::borrowed_text")]
    pub(super) text: Cow<'a, str>,
    #[serde(default, deserialize_with = "lenient::text")]
    pub(super) id: Option<String>,
    #[serde(default, deserialize_with = "lenient::text")]
    pub(super) name: Option<String>,
    /// The arguments of a call. In a stream they follow.
    #[serde(default, borrow)]
    pub(super) input: Option<&'a RawValue>,
}
