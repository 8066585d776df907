//! How servers are reached.

use std::sync::Arc;

use crate::{http::HttpWay, process::Program};

/// How a server is reached.
#[derive(Clone)]
pub enum McpTransport {
    /// By streamable HTTP, at this address.
    Http {
        /// The address.
        url: String,
    },
    /// Over the standard streams of a process that is started for it.
    Process(Program),
}

impl McpTransport {
    /// Whether the program, if it takes one, is where it will be looked for and may be executed.
    pub fn has_its_program(&self) -> bool {
        match self {
            Self::Http { .. } => true,
            Self::Process(program) => program.is_there(),
        }
    }
}

/// The way to a server.
pub(crate) enum Way {
    Http {
        url: Arc<str>,
        ready: Option<HttpWay>,
    },
    Process(Program),
}

impl Way {
    pub(crate) fn by(transport: McpTransport) -> Self {
        match transport {
            McpTransport::Http { url } => Self::Http {
                url: url.into(),
                ready: None,
            },
            McpTransport::Process(program) => Self::Process(program),
        }
    }
}
