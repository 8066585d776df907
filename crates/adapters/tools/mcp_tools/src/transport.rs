//! The transports of servers.

use std::sync::Arc;

use crate::{http::HttpTransport, process::Program};

/// The transport of a server.
#[derive(Clone)]
pub enum McpTransport {
    /// Streamable HTTP.
    Http {
        /// The URL.
        url: String,
    },
    /// The standard streams of a process that is started for the server.
    Process(Program),
}

impl McpTransport {
    /// Returns whether the program, if the transport has one, exists in the search path and is
    /// executable.
    pub fn has_its_program(&self) -> bool {
        match self {
            Self::Http { .. } => true,
            Self::Process(program) => program.exists(),
        }
    }
}

/// A transport that can be opened repeatedly.
pub(crate) enum Transport {
    Http {
        url: Arc<str>,
        ready: Option<HttpTransport>,
    },
    Process(Program),
}

impl Transport {
    pub(crate) fn new(transport: McpTransport) -> Self {
        match transport {
            McpTransport::Http { url } => Self::Http {
                url: url.into(),
                ready: None,
            },
            McpTransport::Process(program) => Self::Process(program),
        }
    }
}
