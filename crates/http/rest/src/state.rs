//! The state of the REST operations.

use access::oauth_server::AuthorizationServer;
use metrics_exporter_prometheus::PrometheusHandle;

use crate::Metadata;

/// The state of the REST operations.
pub struct RestState {
    /// The OAuth authorization server; its clients authenticate to it themselves.
    pub oauth: AuthorizationServer,
    /// Its metadata.
    pub oauth_metadata: Metadata,
    /// The handle that renders the metrics.
    pub metrics: PrometheusHandle,
}
