//! The REST operations. Handlers parse and format; use cases in `application` and `access` decide.

pub mod agents;
pub mod catalogue;
pub mod chat;
pub mod conversations;
pub mod credentials;
pub mod events;
pub mod exports;
pub mod files;
pub mod health;
pub mod limits_endpoint;
pub mod nodes;
pub mod oauth;
pub mod principal;
pub mod profiles;
mod state;
pub mod turns;
pub mod user_tokens;
pub mod users;

use domain::{
    CredentialKind::{Client, Key},
    RatePolicy,
    Scope::{
        AgentsRead, AgentsWrite, ChatWrite, ConversationsRead, ConversationsWrite, EventsRead,
        KeysAdmin, MetricsRead, ToolsApprove, UserTokensIssue, UsersAdmin,
    },
};
use kit::operations::{
    Access::{AnyCredential, AnyOf, Public},
    CHAT_COST,
    Served::{Here, Home},
    Streams::{Always, IfAccepted, IfRequestedOrAccepted, Lines},
};

pub use oauth::{Metadata, configure_metadata};
pub use state::RestState;

/// The maximum size in bytes of a body with imported messages.
const MAX_IMPORT_BYTES: usize = 8 * 1024 * 1024;

#[rustfmt::skip]
kit::operations! {
    post "/api/agents" agents::create_agent AnyOf(&[AgentsWrite]); idempotent, located, versioned;
    get "/api/agents" agents::list_agents AnyOf(&[AgentsRead]); paged, reads_log;
    get "/api/agents/{id}" agents::get_agent AnyOf(&[AgentsRead]); versioned, reads_log;
    patch "/api/agents/{id}" agents::patch_agent AnyOf(&[AgentsWrite]); conditional, versioned;
    delete "/api/agents/{id}" agents::delete_agent AnyOf(&[AgentsWrite]); conditional, versioned;
    get "/api/agents/{id}/config" agents::get_agent_config AnyOf(&[AgentsRead]); versioned, reads_log;
    put "/api/agents/{id}/config" agents::put_agent_config AnyOf(&[AgentsWrite]); conditional, versioned;
    get "/api/profiles" profiles::list_profiles AnyOf(&[ChatWrite]); paged, reads_log;
    get "/api/profiles/{id}" profiles::get_profile AnyOf(&[ChatWrite]); reads_log;
    post "/api/rules/test" agents::test_rules AnyOf(&[AgentsWrite]); names_agent;

    post "/api/chat" chat::chat AnyOf(&[ChatWrite]); idempotent, starts_turn, streams = IfRequestedOrAccepted, names_agent, cost = CHAT_COST;

    post "/api/conversations" conversations::create_conversation AnyOf(&[ConversationsWrite]); idempotent, located, versioned, names_agent, body_bytes = Some(MAX_IMPORT_BYTES);
    get "/api/conversations" conversations::list_conversations AnyOf(&[ConversationsRead]); paged, reads_log;
    get "/api/conversations/{id}" conversations::get_conversation AnyOf(&[ConversationsRead]); versioned, reads_log;
    patch "/api/conversations/{id}" conversations::patch_conversation AnyOf(&[ConversationsWrite]); conditional, versioned;
    delete "/api/conversations/{id}" conversations::delete_conversation AnyOf(&[ConversationsWrite]); conditional, versioned;
    get "/api/conversations/{id}/stream" conversations::follow_conversation AnyOf(&[ConversationsRead]); streams = Always;
    get "/api/conversations/{id}/turns" conversations::list_conversation_turns AnyOf(&[ConversationsRead]); paged, reads_log;
    get "/api/conversations/{id}/messages" conversations::list_messages AnyOf(&[ConversationsRead]); paged, reads_log;
    post "/api/conversations/{id}/messages" conversations::write_message AnyOf(&[ConversationsWrite]); idempotent;
    patch "/api/conversations/{id}/messages/{messageId}" conversations::patch_message AnyOf(&[ConversationsWrite]); ;
    delete "/api/conversations/{id}/messages/{messageId}" conversations::delete_message AnyOf(&[ConversationsWrite]); ;
    get "/api/conversations/{id}/notes" conversations::list_notes AnyOf(&[ConversationsRead]); served = Home, paged;
    post "/api/conversations/{id}/notes" conversations::write_note AnyOf(&[ConversationsWrite]); idempotent;
    delete "/api/conversations/{id}/notes/{noteId}" conversations::delete_note AnyOf(&[ConversationsWrite]); ;
    put "/api/conversations/{id}/messages/{messageId}/feedback" conversations::rate_message AnyOf(&[ChatWrite]); ;
    delete "/api/conversations/{id}/messages/{messageId}/feedback" conversations::delete_feedback AnyOf(&[ChatWrite]); reads_query;
    get "/api/feedback" conversations::list_feedback AnyOf(&[ConversationsRead]); paged, reads_log;

    get "/api/export" exports::export_conversations AnyOf(&[ConversationsRead]); served = Home, reads_query, streams = Lines;

    get "/api/users/export" exports::export_user AnyOf(&[UsersAdmin]); served = Home, reads_query, streams = Lines;
    get "/api/users" users::list_users AnyOf(&[UsersAdmin]); served = Home, paged;
    put "/api/users" users::put_user AnyOf(&[UsersAdmin]); reads_query;
    patch "/api/users" users::patch_user AnyOf(&[UsersAdmin]); reads_query;
    delete "/api/users" users::erase_user AnyOf(&[UsersAdmin]); reads_query;

    post "/api/files" files::create_file AnyOf(&[ChatWrite]); idempotent, located, takes_file;
    get "/api/files/{id}" files::get_file AnyOf(&[ChatWrite, ConversationsRead]); served = Home;
    delete "/api/files/{id}" files::delete_file AnyOf(&[ChatWrite]); ;
    get "/api/files/{id}/content" files::get_file_content AnyOf(&[ChatWrite, ConversationsRead]); served = Home, takes_link;
    post "/api/files/{id}/link" files::create_file_link AnyOf(&[ChatWrite, ConversationsRead]); ;

    get "/api/turns" turns::list_turns AnyOf(&[ConversationsRead]); paged, reads_log;
    get "/api/turns/{id}" turns::get_turn AnyOf(&[ChatWrite, ConversationsRead]); reads_log;
    post "/api/turns/{id}/actions" turns::answer_turn AnyOf(&[ChatWrite, ToolsApprove]); starts_turn, streams = IfRequestedOrAccepted;
    post "/api/turns/{id}/cancel" turns::cancel_turn AnyOf(&[ChatWrite]); ends_turn;

    get "/api/events" events::list_events AnyOf(&[EventsRead]); streams = IfAccepted, reads_after, reads_log, reads_query;

    post "/api/keys" credentials::create_key AnyOf(&[KeysAdmin]); idempotent, secret, located, credentials = Some(Key);
    get "/api/keys" credentials::list_keys AnyOf(&[KeysAdmin]); served = Home, paged, credentials = Some(Key);
    get "/api/keys/{id}" credentials::get_key AnyOf(&[KeysAdmin]); served = Home, credentials = Some(Key);
    patch "/api/keys/{id}" credentials::patch_key AnyOf(&[KeysAdmin]); credentials = Some(Key);
    post "/api/keys/{id}/rotate" credentials::rotate_key AnyOf(&[KeysAdmin]); idempotent, secret, optional_body, credentials = Some(Key);
    delete "/api/keys/{id}" credentials::revoke_key AnyOf(&[KeysAdmin]); credentials = Some(Key);
    post "/api/oauth-clients" credentials::create_oauth_client AnyOf(&[KeysAdmin]); idempotent, located, credentials = Some(Client);
    get "/api/oauth-clients" credentials::list_oauth_clients AnyOf(&[KeysAdmin]); served = Home, paged, credentials = Some(Client);
    get "/api/oauth-clients/{id}" credentials::get_oauth_client AnyOf(&[KeysAdmin]); served = Home, credentials = Some(Client);
    patch "/api/oauth-clients/{id}" credentials::patch_oauth_client AnyOf(&[KeysAdmin]); credentials = Some(Client);
    post "/api/oauth-clients/{id}/rotate" credentials::rotate_oauth_client AnyOf(&[KeysAdmin]); idempotent, optional_body, credentials = Some(Client);
    delete "/api/oauth-clients/{id}" credentials::revoke_oauth_client AnyOf(&[KeysAdmin]); credentials = Some(Client);

    post "/api/user-tokens" user_tokens::create_user_token AnyOf(&[UserTokensIssue]); cost = &[RatePolicy::UserTokens];
    delete "/api/user-tokens" user_tokens::withdraw_user_tokens AnyOf(&[UserTokensIssue]); reads_query;

    get "/api/engines" catalogue::list_engines AnyOf(&[AgentsRead]); served = Home;
    get "/api/capabilities" catalogue::list_capabilities AnyOf(&[AgentsRead]); served = Home;
    get "/api/limits" limits_endpoint::get_limits AnyCredential; served = Here;
    get "/api/principal" principal::get_principal AnyCredential; served = Here;
    get "/api/nodes" nodes::list_nodes AnyOf(&[MetricsRead]); served = Home;
    get "/metrics" health::get_metrics AnyOf(&[MetricsRead]); served = Here, drains_body;

    post "/oauth2/token" oauth::issue_token Public; ;
    post "/oauth2/revoke" oauth::revoke_token Public; ;
    post "/oauth2/introspect" oauth::introspect_token Public; ;
    get "/.well-known/oauth-authorization-server" oauth::get_authorization_server Public; served = Here;
    get "/.well-known/oauth-protected-resource" oauth::get_protected_resource Public; served = Here;
    get "/.well-known/jwks.json" oauth::get_jwks Public; served = Here;

    get "/livez" health::get_livez Public; served = Here, unlimited;
    get "/readyz" health::get_readyz Public; served = Here, unlimited, needs_store;
}
