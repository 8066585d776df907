//! The cached state of a server.

use std::{collections::BTreeMap, sync::Arc};

use parking_lot::RwLock;
use ports::{CapabilityInfo, CapabilityKind, ProvidedTools, ToolDefinition};
use rmcp::{RoleClient, service::Peer};
use tokio::sync::Notify;

use crate::{call::Route, server::HintPolicy};

/// The reason that a tool cannot be called.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RouteError {
    #[error("the MCP server is not connected")]
    NoConnection,
    #[error("the MCP server has no such tool")]
    NoTool,
}

/// A tool: its definition, and its name at the server.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct CatalogTool {
    pub(crate) definition: Arc<ToolDefinition>,
    pub(crate) remote_name: String,
}

/// Tools by capability.
pub(crate) type ToolCatalog = BTreeMap<String, CatalogTool>;

/// The state of a server, written only by its connection task.
pub(crate) struct State {
    name: String,
    hints: HintPolicy,
    known: RwLock<Known>,
    check_request: Notify,
}

struct Known {
    description: String,
    /// The last known tools, kept while the server is disconnected.
    catalog: ToolCatalog,
    connection: Option<Peer<RoleClient>>,
}

impl State {
    /// Creates the state of a server before its first connection.
    pub(crate) fn new(name: String, hints: HintPolicy) -> Self {
        let known = Known {
            description: "All tools of an MCP server".to_owned(),
            catalog: ToolCatalog::new(),
            connection: None,
        };
        Self {
            name,
            hints,
            known: RwLock::new(known),
            check_request: Notify::new(),
        }
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Returns what is believed of the effects of its tools.
    pub(crate) const fn hints(&self) -> HintPolicy {
        self.hints
    }

    pub(crate) fn provided(&self) -> ProvidedTools {
        let known = self.known.read();
        let is_available = known.connection.is_some();
        let server = CapabilityInfo {
            name: self.name.clone(),
            kind: CapabilityKind::Server,
            description: known.description.clone(),
            is_available,
        };
        let definitions = || known.catalog.values().map(|tool| &tool.definition);
        let tools = definitions().map(|definition| CapabilityInfo {
            name: definition.name.clone(),
            kind: CapabilityKind::Tool,
            description: definition.description.clone(),
            is_available,
        });
        let available = definitions().filter(|_| is_available);
        ProvidedTools {
            capabilities: std::iter::once(server).chain(tools).collect(),
            tools: available.map(Arc::clone).collect(),
        }
    }

    /// Returns the route to the tool of this name.
    pub(crate) fn route(&self, name: &str) -> Result<Route, RouteError> {
        let known = self.known.read();
        let peer = known.connection.clone().ok_or(RouteError::NoConnection)?;
        let tool = known.catalog.get(name).ok_or(RouteError::NoTool)?;
        Ok(Route {
            peer,
            remote_name: tool.remote_name.clone(),
        })
    }

    /// Stores the connection and the tools of the server.
    pub(crate) fn publish(
        &self,
        peer: &Peer<RoleClient>,
        description: String,
        catalog: ToolCatalog,
    ) {
        let mut known = self.known.write();
        known.description = description;
        known.catalog = catalog;
        known.connection = Some(peer.clone());
    }

    /// Removes the connection.
    pub(crate) fn disconnect(&self) {
        self.known.write().connection = None;
    }

    /// Returns whether there is no connection.
    pub(crate) fn is_disconnected(&self) -> bool {
        self.known.read().connection.is_none()
    }

    /// Requests a check of the connection.
    pub(crate) fn request_check(&self) {
        self.check_request.notify_one();
    }

    /// Waits for a request to check the connection.
    pub(crate) async fn check_requested(&self) {
        self.check_request.notified().await;
    }
}
