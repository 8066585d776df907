//! The frames of a socket, as `WebSocketChatTransport` defines them.

use std::collections::HashMap;

use bytestring::ByteString;
use kit::{body, problem::ApiError, request::typed_leniently};
use serde::{Deserialize, Serialize};

use super::{part::Part, request::ChatBody};

/// A frame of the client.
pub(super) struct ClientFrame {
    /// The client's id of the request.
    pub(super) request_id: String,
    /// The request, or the error of a frame that cannot be used.
    pub(super) request: Result<ClientRequest, ApiError>,
}

/// The content of a client's frame.
#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub(super) enum ClientRequest {
    /// A message is sent, edited or answered again.
    Send {
        #[serde(default)]
        headers: HashMap<String, String>,
        #[serde(flatten)]
        body: ChatBody,
    },
    /// The open or newest turn is followed from its beginning.
    Resume {
        id: String,
        #[serde(default)]
        headers: HashMap<String, String>,
    },
    /// The turn of a request is stopped.
    Abort {},
}

impl ClientFrame {
    /// Reads a frame. Returns `None` if it is not JSON or has no `requestId`: then its error cannot
    /// be reported to a request.
    pub(super) fn read(text: &str) -> Option<Self> {
        let unchecked = body::read(text.as_bytes()).ok()?;
        let request_id = unchecked.value()["requestId"].as_str()?.to_owned();
        let value = unchecked.without_schema().map_err(ApiError::from);
        Some(Self {
            request_id,
            request: value.and_then(typed_leniently),
        })
    }
}

/// A frame of the server. A chunk is a part, or the JSON of a part that another node has written.
#[derive(Debug, Serialize)]
#[serde(
    tag = "type",
    rename_all = "kebab-case",
    rename_all_fields = "camelCase"
)]
pub(super) enum ServerFrame<'a, C = Part> {
    Start {
        request_id: &'a str,
    },
    Chunk {
        request_id: &'a str,
        sequence: u64,
        chunk: &'a C,
    },
    End {
        request_id: &'a str,
    },
    Error {
        request_id: &'a str,
        error_text: &'a str,
    },
    NoActive {
        request_id: &'a str,
    },
}

impl<C: Serialize> ServerFrame<'_, C> {
    /// Returns the text of the frame.
    pub(super) fn encode(&self) -> ByteString {
        // Serialization cannot fail: frames contain only text, numbers and JSON.
        serde_json::to_string(self).unwrap_or_default().into()
    }
}
