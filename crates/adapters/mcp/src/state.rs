//! What is known of a server at the moment.

use std::{
    collections::BTreeMap,
    sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard},
};

use ports::{CapabilityInfo, CapabilityKind, Provided, ToolDefinition};
use rmcp::{RoleClient, service::Peer};
use tokio::sync::Notify;

use crate::{call::Route, offer::kept};

/// Why there is nobody to call.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NoRoute {
    #[error("there is no connection to the server of tools")]
    NoConnection,
    #[error("the server has no such tool")]
    NoTool,
}

/// One tool: what is told of it, and its name at the server.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Offered {
    pub(crate) definition: Arc<ToolDefinition>,
    pub(crate) name_there: String,
}

/// Tools by the capabilities that give them.
pub(crate) type Offer = BTreeMap<String, Offered>;

/// Shared by those who ask and the one task that keeps the connection.
pub(crate) struct State {
    name: String,
    known: RwLock<Known>,
    suspicion: Notify,
}

struct Known {
    description: String,
    /// The last that was offered, also when the server is away.
    offer: Offer,
    connection: Option<Peer<RoleClient>>,
}

impl State {
    /// Of a server that nobody has reached yet.
    pub(crate) fn new(name: String) -> Self {
        let known = Known {
            description: "All tools of an MCP server".to_owned(),
            offer: Offer::new(),
            connection: None,
        };
        Self {
            name,
            known: RwLock::new(known),
            suspicion: Notify::new(),
        }
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn provided(&self) -> Provided {
        let known = self.read();
        let is_available = known.connection.is_some();
        let server = CapabilityInfo {
            name: self.name.clone(),
            kind: CapabilityKind::Server,
            description: known.description.clone(),
            is_available,
        };
        let definitions = || known.offer.values().map(|offered| &offered.definition);
        let tools = definitions().map(|definition| CapabilityInfo {
            name: definition.name.clone(),
            kind: CapabilityKind::Tool,
            description: definition.description.clone(),
            is_available,
        });
        let there = definitions().filter(|_| is_available);
        Provided {
            capabilities: std::iter::once(server).chain(tools).collect(),
            tools: there.map(Arc::clone).collect(),
        }
    }

    /// Where to call the tool of this name.
    pub(crate) fn route(&self, name: &str) -> Result<Route, NoRoute> {
        let known = self.read();
        let peer = known.connection.clone().ok_or(NoRoute::NoConnection)?;
        let offered = known.offer.get(name).ok_or(NoRoute::NoTool)?;
        Ok(Route {
            peer,
            name_there: offered.name_there.clone(),
        })
    }

    /// Tells that the server is there, and what it has.
    pub(crate) fn offer(&self, peer: &Peer<RoleClient>, description: String, offer: Offer) {
        // Compared before the lock is taken: nobody else writes.
        let before = self.read().offer.clone();
        let offer = kept(&before, offer);
        let mut known = self.write();
        known.description = description;
        known.offer = offer;
        known.connection = Some(peer.clone());
    }

    /// Tells that the server has gone.
    pub(crate) fn withdraw(&self) {
        self.write().connection = None;
    }

    /// Whether there is no connection.
    pub(crate) fn is_away(&self) -> bool {
        self.read().connection.is_none()
    }

    /// Asks to look whether the server is still there.
    pub(crate) fn suspect(&self) {
        self.suspicion.notify_one();
    }

    /// Waits until somebody suspects that the server has gone.
    pub(crate) async fn suspected(&self) {
        self.suspicion.notified().await;
    }

    fn read(&self) -> RwLockReadGuard<'_, Known> {
        self.known.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Known> {
        self.known.write().unwrap_or_else(PoisonError::into_inner)
    }
}
