//! The transports of servers.

use std::{collections::BTreeMap, sync::Arc};

use ports::ToolTokens;
use secrecy::SecretString;

use crate::{bearers::Bearers, http::HttpTransport, process::Program};

/// The transport of a server.
#[derive(Clone)]
pub enum McpTransport {
    /// Streamable HTTP.
    Http(HttpEndpoint),
    /// The standard streams of a process that is started for the server.
    Process(Program),
}

impl McpTransport {
    /// Returns whether the program, if the transport has one, exists in the search path and is
    /// executable.
    pub fn has_its_program(&self) -> bool {
        match self {
            Self::Http(_) => true,
            Self::Process(program) => program.exists(),
        }
    }
}

/// A server with streamable HTTP, and what it receives.
#[derive(Clone)]
pub struct HttpEndpoint {
    /// The URL.
    pub url: String,
    /// The headers of every request, by name.
    pub headers: BTreeMap<String, SecretString>,
    /// The issuer of the tokens that prove to the server for which user a tool is called, if it
    /// receives them.
    pub user_tokens: Option<Arc<dyn ToolTokens>>,
}

impl HttpEndpoint {
    /// Creates a server that receives no credential.
    pub fn new(url: String) -> Self {
        Self {
            url,
            headers: BTreeMap::new(),
            user_tokens: None,
        }
    }
}

/// A transport that can be opened repeatedly.
pub(crate) enum Transport {
    Http {
        endpoint: HttpEndpoint,
        bearers: Bearers,
        ready: Option<HttpTransport>,
    },
    Process(Program),
}

impl Transport {
    /// `bearers` are those of the calls.
    pub(crate) fn new(transport: McpTransport, bearers: Bearers) -> Self {
        match transport {
            McpTransport::Http(endpoint) => Self::Http {
                endpoint,
                bearers,
                ready: None,
            },
            McpTransport::Process(program) => Self::Process(program),
        }
    }
}
