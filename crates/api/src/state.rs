//! What handlers reach: the use cases, and what the layers need.

use std::{sync::Arc, time::Duration};

use application::{
    AgentService, Authenticator, ChatService, ConversationService, CredentialService, Engines,
    EventService, KeyedSemaphore, Toolbox, TurnService,
    access::{Limits, Tickets, server::AuthorizationServer},
    chat::LiveTurns,
    realtime::{LogReader, Typing},
};
use cpu_pool::CpuPool;
use domain::{Quota, Sizes, TenantId};
use metrics_exporter_prometheus::PrometheusHandle;
use ports::IdSource;
use tokio_util::sync::CancellationToken;

#[cfg(feature = "address-guard")]
use crate::access::AddressGuard;
use crate::{
    access::LargeAnswers, body::Schemas, documents::Documents, layers::AllowedOrigins,
    oauth::Metadata, readiness::Readiness, socket::SocketTimes,
};

/// What the layers need, and what anybody may know.
pub struct ApiState {
    /// From credentials to principals.
    pub authenticator: Arc<Authenticator>,
    /// Issues tokens to clients, which authenticate to it themselves.
    pub oauth: AuthorizationServer,
    /// How clients find it.
    pub oauth_metadata: Metadata,
    /// In place of credentials where none can be sent.
    pub tickets: Arc<Tickets>,
    /// How often a principal may come.
    pub limits: Arc<Limits>,
    /// Large answers that are being sent.
    pub large_answers: LargeAnswers,
    /// How often strangers may come from one address.
    #[cfg(feature = "address-guard")]
    pub address_guard: AddressGuard,
    /// The quota of that; none when nobody counts it.
    pub address_quota: Option<Quota>,
    /// Request ids.
    pub ids: Arc<dyn IdSource>,
    /// The share of each tenant in the reading of pages.
    pub page_permits: KeyedSemaphore<TenantId>,
    /// Threads for the validation of long bodies.
    pub cpu_pool: Arc<CpuPool>,
    /// Validators of bodies.
    pub schemas: Schemas,
    /// How large things may be.
    pub sizes: Sizes,
    /// The URL under which clients reach this server, without a slash at the end.
    pub public_url: String,
    /// The path of that URL, which every path in an answer begins with; empty at the root of a host.
    pub base_path: String,
    /// The origins whose pages may read answers.
    pub allowed_origins: AllowedOrigins,
    /// How long a body may take to arrive.
    pub body_deadline: Duration,
    /// Ends streams and sockets when the listener closes.
    pub closing: CancellationToken,
    /// How long clients of sockets may take for what.
    pub socket_times: SocketTimes,
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
    /// The log, for those who follow it by channels.
    pub log: Arc<LogReader>,
    /// The turns that this process knows of while they last.
    pub live: Arc<LiveTurns>,
    /// Who types where.
    pub typing: Arc<Typing>,
    /// Keys and OAuth clients.
    pub credentials: CredentialService,
    /// The engines, for the catalogue.
    pub engines: Arc<Engines>,
    /// The tools, for the catalogue.
    pub toolbox: Arc<Toolbox>,
}
