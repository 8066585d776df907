//! The state of the REST operations.

use access::oauth_server::AuthorizationServer;

use crate::Metadata;

/// The state of the REST operations.
pub struct RestState {
    /// The OAuth authorization server; its clients authenticate to it themselves.
    pub oauth: AuthorizationServer,
    /// Its metadata.
    pub oauth_metadata: Metadata,
    /// Renders the metrics.
    pub metrics: Box<dyn Fn() -> String + Send + Sync>,
}
