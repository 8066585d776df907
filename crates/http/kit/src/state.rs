//! The state that the layers and all surfaces share.

use std::{
    sync::{Arc, LazyLock},
    time::Duration,
};

use access::{Authenticator, CredentialService, Tickets, UserTokens};
use application::{
    AgentService, ChatService, ConversationService, Engines, EventService, ExportService,
    FileMemory, FileService, KeyedSemaphore, Toolbox, TurnService, UserService,
    live_turns::LiveTurns,
    node::Node,
    principal_limits::PrincipalLimits,
    realtime::{LogReader, Typing},
};
use cpu_pool::CpuPool;
use domain::{Quota, Sizes, TenantId};
use ports::IdSource;
use tokio_util::sync::CancellationToken;

#[cfg(feature = "address-guard")]
use crate::auth::AddressGuard;
use crate::{
    auth::LargeResponses, body::Schemas, layers::AllowedOrigins, operations::OperationTable,
    readiness::Readiness, region::OwnRegion, socket_limits::SocketLimits,
};

/// A value that is built when it is first used.
pub type Lazy<T> = LazyLock<T, Box<dyn FnOnce() -> T + Send>>;

/// The state that the layers and all surfaces share.
pub struct HttpState {
    /// The operations of all surfaces.
    pub operations: OperationTable,
    /// Converts credentials into principals.
    pub authenticator: Arc<Authenticator>,
    /// Tickets, for sockets that cannot send a credential.
    pub tickets: Arc<Tickets>,
    /// The region of this process.
    pub region: OwnRegion,
    /// How clients reach this server.
    pub site: Site,
    /// The limits of requests.
    pub rates: Rates,
    /// The parts that read the bodies of requests.
    pub bodies: Bodies,
    /// The source of request ids.
    pub ids: Arc<dyn IdSource>,
    /// The permits of tenants to read pages.
    pub page_permits: KeyedSemaphore<TenantId>,
    /// Ends streams and sockets when the server stops listening.
    pub closing: CancellationToken,
    /// The readiness of this process.
    pub readiness: Readiness,
}

/// How clients reach this server.
pub struct Site {
    /// The URL under which clients reach this server, without a slash at the end.
    pub public_url: String,
    /// The path of that URL, with which all paths in responses begin; empty at the root of a host.
    pub base_path: String,
    /// The parameter of challenges that names the metadata of this server (RFC 9728).
    pub resource_metadata: String,
    /// The origins whose pages may read responses.
    pub allowed_origins: AllowedOrigins,
}

/// The limits of requests.
pub struct Rates {
    /// The rate limits of principals.
    pub principals: Arc<PrincipalLimits>,
    /// The large responses that are being sent.
    pub large_responses: LargeResponses,
    /// The rate limit of requests without a known credential, by client address.
    #[cfg(feature = "address-guard")]
    pub address_guard: AddressGuard,
    /// The quota of the address guard; `None` without the guard.
    pub address_quota: Option<Quota>,
    /// The limits of each socket.
    pub sockets: SocketLimits,
}

/// The parts that read the bodies of requests.
pub struct Bodies {
    /// The validators of bodies.
    pub schemas: Lazy<Schemas>,
    /// The threads that validate long bodies.
    pub cpu_pool: Arc<CpuPool>,
    /// The maximum sizes.
    pub sizes: Sizes,
    /// The memory for bodies with files.
    pub memory: FileMemory,
    /// The time in which a body must arrive.
    pub deadline: Duration,
}

/// The use cases. Handlers reach them only through [`crate::auth::Authorized`], so that a handler
/// cannot forget to check its caller.
pub struct Services {
    /// Agents.
    pub agents: AgentService,
    /// Chat.
    pub chat: ChatService,
    /// Conversations.
    pub conversations: ConversationService,
    /// Turns.
    pub turns: TurnService,
    /// The event log.
    pub events: EventService,
    /// The reader of the event log, for followers of channels.
    pub log: Arc<LogReader>,
    /// The turns in progress that this process knows.
    pub live: Arc<LiveTurns>,
    /// The typing indicators.
    pub typing: Arc<Typing>,
    /// Keys and OAuth clients.
    pub credentials: CredentialService,
    /// Files.
    pub files: Arc<FileService>,
    /// Users.
    pub users: UserService,
    /// Exports.
    pub exports: ExportService,
    /// Tokens for users.
    pub user_tokens: UserTokens,
    /// The node of this process, and the other live ones.
    pub node: Arc<Node>,
    /// The engines, for the catalogue.
    pub engines: Arc<Engines>,
    /// The tools, for the catalogue.
    pub toolbox: Arc<Toolbox>,
}
