//! Who may do what: every operation of the interface and what it asks of a credential.
//!
//! The service does not start with an operation that is not in this table, the published document
//! takes its `security` from it, and a test proves of each operation that it refuses who lacks
//! what stands here.

use domain::Scope;

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
    ("list_problems", Public),
    ("get_problem", Public),
    ("get_console", Public),
];

/// What an operation asks; `None` when it is not in the table.
pub fn access_of(operation: &str) -> Option<Access> {
    TABLE
        .iter()
        .find(|(name, _)| *name == operation)
        .map(|(_, access)| *access)
}
