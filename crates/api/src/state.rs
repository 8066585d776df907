//! What handlers reach: the use cases, and what the layers need.

use std::{sync::Arc, time::Duration};

use application::{
    AgentService, Authenticator, ChatService, ConversationService, Engines, EventService,
    TurnService,
};
use domain::Sizes;
use metrics_exporter_prometheus::PrometheusHandle;
use ports::IdSource;

use crate::{body::Schemas, documents::Documents, layers::AllowedOrigins, readiness::Readiness};

/// What the layers need, and what anybody may know.
pub struct ApiState {
    /// From credentials to principals.
    pub authenticator: Arc<Authenticator>,
    /// Request ids.
    pub ids: Arc<dyn IdSource>,
    /// Validators of bodies.
    pub schemas: Schemas,
    /// How large things may be.
    pub sizes: Sizes,
    /// The URL under which clients reach this server, without a slash at the end.
    pub public_url: String,
    /// The origins whose pages may read answers.
    pub allowed_origins: AllowedOrigins,
    /// How long a body may take to arrive.
    pub body_deadline: Duration,
    /// Whether this process can do its work.
    pub readiness: Readiness,
    /// The published documents.
    pub documents: Documents,
    /// Renders the metrics.
    pub metrics: PrometheusHandle,
}

/// The use cases. Handlers reach them only through [`crate::access::Authorized`], so that a
/// handler which forgot to ask who calls cannot do anything.
pub struct Services {
    /// Agents.
    pub agents: AgentService,
    /// Chat.
    pub chat: ChatService,
    /// Conversations.
    pub conversations: ConversationService,
    /// Turns.
    pub turns: TurnService,
    /// The log.
    pub events: EventService,
    /// The engines, for the catalogue.
    pub engines: Arc<Engines>,
}
