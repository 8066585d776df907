//! The frames of a socket, as `WebSocketChatTransport` defines them.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::{part::Part, request::ChatBody};

/// A frame of the client.
#[derive(Debug, Deserialize)]
#[serde(
    tag = "type",
    rename_all = "kebab-case",
    rename_all_fields = "camelCase"
)]
pub(super) enum ClientFrame {
    /// A message is sent, edited or answered again.
    Send {
        request_id: String,
        #[serde(default)]
        headers: HashMap<String, String>,
        #[serde(flatten)]
        body: ChatBody,
    },
    /// The open or newest turn is followed from its beginning.
    Resume {
        request_id: String,
        id: String,
        #[serde(default)]
        headers: HashMap<String, String>,
    },
    /// The turn of a request is stopped.
    Abort { request_id: String },
}

/// A frame of the server.
#[derive(Debug, Serialize)]
#[serde(
    tag = "type",
    rename_all = "kebab-case",
    rename_all_fields = "camelCase"
)]
pub(super) enum ServerFrame<'a> {
    Start {
        request_id: &'a str,
    },
    Chunk {
        request_id: &'a str,
        sequence: u64,
        chunk: &'a Part,
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

impl ServerFrame<'_> {
    /// Returns the text of the frame.
    pub(super) fn encode(&self) -> String {
        // Serialization cannot fail: frames contain only text, numbers and JSON.
        serde_json::to_string(self).unwrap_or_default()
    }
}
