//! Who may do what: every operation of the interface, what it asks of a credential, and what it
//! costs.
//!
//! The service does not start with an operation that is not in this table, the published document
//! takes its `security` from it, and a test proves of each operation that it refuses who lacks
//! what stands here.

use domain::{RatePolicy, Scope};

/// What an operation asks of the credential.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Nothing: it is for everybody.
    Public,
    /// A valid credential, whatever its scopes.
    AnyCredential,
    /// One of these scopes.
    AnyOf(&'static [Scope]),
}

use Access::{AnyCredential, AnyOf, Public};
use Scope::{
    AgentsRead, AgentsWrite, ChatWrite, ConversationsRead, ConversationsWrite, EventsRead,
    KeysAdmin, MetricsRead,
};

/// Operation id → what it asks.
pub const TABLE: &[(&str, Access)] = &[
    ("create_agent", AnyOf(&[AgentsWrite])),
    ("list_agents", AnyOf(&[AgentsRead])),
    ("get_agent", AnyOf(&[AgentsRead])),
    ("patch_agent", AnyOf(&[AgentsWrite])),
    ("delete_agent", AnyOf(&[AgentsWrite])),
    ("get_agent_config", AnyOf(&[AgentsRead])),
    ("put_agent_config", AnyOf(&[AgentsWrite])),
    ("chat", AnyOf(&[ChatWrite])),
    ("create_conversation", AnyOf(&[ConversationsWrite])),
    ("list_conversations", AnyOf(&[ConversationsRead])),
    ("get_conversation", AnyOf(&[ConversationsRead])),
    ("patch_conversation", AnyOf(&[ConversationsWrite])),
    ("delete_conversation", AnyOf(&[ConversationsWrite])),
    ("list_messages", AnyOf(&[ConversationsRead])),
    ("get_turn", AnyOf(&[ChatWrite, ConversationsRead])),
    ("cancel_turn", AnyOf(&[ChatWrite])),
    ("list_events", AnyOf(&[EventsRead])),
    ("open_socket", AnyOf(&[EventsRead])),
    ("create_ticket", AnyOf(&[EventsRead])),
    ("create_key", AnyOf(&[KeysAdmin])),
    ("list_keys", AnyOf(&[KeysAdmin])),
    ("get_key", AnyOf(&[KeysAdmin])),
    ("rotate_key", AnyOf(&[KeysAdmin])),
    ("revoke_key", AnyOf(&[KeysAdmin])),
    ("create_oauth_client", AnyOf(&[KeysAdmin])),
    ("list_oauth_clients", AnyOf(&[KeysAdmin])),
    ("get_oauth_client", AnyOf(&[KeysAdmin])),
    ("rotate_oauth_client", AnyOf(&[KeysAdmin])),
    ("revoke_oauth_client", AnyOf(&[KeysAdmin])),
    ("list_engines", AnyCredential),
    ("list_capabilities", AnyCredential),
    ("get_limits", AnyCredential),
    ("get_metrics", AnyOf(&[MetricsRead])),
    ("issue_token", Public),
    ("revoke_token", Public),
    ("introspect_token", Public),
    ("get_authorization_server", Public),
    ("get_protected_resource", Public),
    ("get_jwks", Public),
    ("get_livez", Public),
    ("get_readyz", Public),
    ("get_openapi", Public),
    ("get_asyncapi", Public),
    ("list_problems", Public),
    ("get_problem", Public),
    ("get_console", Public),
];

/// Paths on which credentials are not looked at, each with all that is below it: those of the
/// operations that are for everybody, and of their console.
const PUBLIC_PATHS: &[&str] = &[
    "/livez",
    "/readyz",
    "/openapi.json",
    "/asyncapi.json",
    "/docs",
    "/problems",
    "/.well-known",
    "/oauth2",
];

/// What one call of an operation counts as.
#[derive(Debug, Clone, Copy)]
pub struct Cost {
    /// The operation.
    pub operation: &'static str,
    /// Its method and its path: requests are counted before they are routed.
    pub method: &'static str,
    /// See `method`.
    pub path: &'static str,
    /// The policies of which it takes a unit each.
    pub policies: &'static [RatePolicy],
}

/// The operations that cost more than [`ONE_REQUEST`].
pub const COSTS: &[Cost] = &[Cost {
    operation: "chat",
    method: "POST",
    path: "/api/chat",
    policies: &[RatePolicy::Requests, RatePolicy::Chat],
}];

/// What every other operation costs.
pub const ONE_REQUEST: &[RatePolicy] = &[RatePolicy::Requests];

/// Whether credentials are not looked at on a path. What else is public still refuses a credential
/// that is bad.
pub fn is_public(path: &str) -> bool {
    path == "/"
        || PUBLIC_PATHS.iter().any(|public| {
            path.strip_prefix(public)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        })
}

/// What a request counts as.
pub fn cost_of(method: &str, path: &str) -> &'static [RatePolicy] {
    COSTS
        .iter()
        .find(|cost| cost.method == method && cost.path == path)
        .map_or(ONE_REQUEST, |cost| cost.policies)
}

/// What an operation asks; `None` when it is not in the table.
pub fn access_of(operation: &str) -> Option<Access> {
    TABLE
        .iter()
        .find(|(name, _)| *name == operation)
        .map(|(_, access)| *access)
}
