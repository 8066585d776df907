//! All operations of the HTTP interface, one row each.
//!
//! Routes, required scopes, costs, public paths and everything that the OpenAPI document derives
//! from an operation's nature are read from these rows, and no path is matched anywhere else. To
//! add an operation, write its handler and add its row. The rows of a protocol are in its folder.

mod operation;

use std::sync::LazyLock;

use actix_web::web;
use domain::{CredentialKind, RatePolicy, Scope};
use utoipa::OpenApi;

use crate::{
    agents, catalogue, chat, conversations, credentials, documents, events, health,
    limits_endpoint, nodes, oauth, principal, problem_catalogue,
    protocols::{self, Protocol},
    regions, socket, turns, user_tokens,
};

pub use operation::{Access, Operation, Served};

/// The cost of an ordinary operation.
pub const ONE_REQUEST: &[RatePolicy] = &[RatePolicy::Requests];

/// The protocols of other products' clients.
pub const PROTOCOLS: &[Protocol] = &[
    protocols::ai_sdk::PROTOCOL,
    protocols::openai::PROTOCOL,
    protocols::ag_ui::PROTOCOL,
];

/// Returns the protocol that a path belongs to, also if it is not the path of an operation.
pub fn protocol_of(path: &str) -> Option<&'static Protocol> {
    let is_below = |rest: &str| rest.is_empty() || rest.starts_with('/');
    let mut protocols = PROTOCOLS.iter();
    protocols.find(|it| path.strip_prefix(it.prefix).is_some_and(is_below))
}

/// Returns all operations, including those of protocols.
pub fn all() -> impl Iterator<Item = &'static Operation> {
    let protocols = PROTOCOLS.iter().flat_map(|protocol| protocol.operations);
    OPERATIONS.iter().chain(protocols)
}

/// Returns the row of an operation.
pub fn find(id: &str) -> Option<&'static Operation> {
    OPERATIONS.iter().find(|operation| operation.id == id)
}

/// Returns the operation of a request, as the router finds it.
pub fn of_request(method: &str, path: &str) -> Option<&'static Operation> {
    let mut operations = all().filter(|operation| is_path_of(operation.path, path));
    operations.find(|operation| operation.method == method)
}

/// Returns the cost of a request, which is counted before routing.
pub fn cost_of(method: &str, path: &str) -> &'static [RatePolicy] {
    static COSTLY: LazyLock<Vec<&Operation>> = LazyLock::new(|| {
        let costly = |operation: &&Operation| operation.cost != ONE_REQUEST;
        all().filter(costly).collect()
    });
    let found = COSTLY
        .iter()
        .find(|operation| operation.method == method && is_path_of(operation.path, path));
    found.map_or(ONE_REQUEST, |operation| operation.cost)
}

/// Returns whether a path can be answered with an event stream.
pub fn streams(path: &str) -> bool {
    static STREAMS: LazyLock<Vec<&str>> = LazyLock::new(|| {
        let streaming = all().filter(|operation| operation.streams);
        streaming.map(|operation| operation.path).collect()
    });
    STREAMS.iter().any(|template| is_path_of(template, path))
}

/// Returns whether a path opens sockets, which accept tickets.
pub fn opens_socket(path: &str) -> bool {
    all().any(|operation| operation.opens_socket && is_path_of(operation.path, path))
}

/// Returns whether a path has the form of a template, such as `/api/agents/{id}`.
fn is_path_of(template: &str, path: &str) -> bool {
    let mut segments = path.split('/');
    let is_same = |expected: &str| {
        segments
            .next()
            .is_some_and(|segment| segment == expected || expected.starts_with('{'))
    };
    template.split('/').all(is_same) && segments.next().is_none()
}

/// Returns whether credentials are ignored on a path: the public operations, the pages of `/docs`
/// and `/console`, and everything below them.
pub fn is_public(path: &str) -> bool {
    static SEGMENTS: LazyLock<Vec<&str>> = LazyLock::new(|| {
        let public = OPERATIONS.iter().filter(|it| it.access == Public);
        let mut segments: Vec<_> = public.map(|it| first_segment(it.path)).collect();
        segments.extend(["docs", "console"]);
        segments.retain(|segment| !segment.is_empty());
        segments.dedup();
        segments
    });
    path == "/" || SEGMENTS.contains(&first_segment(path))
}

/// Returns whether a path belongs to the API itself.
pub fn is_api(path: &str) -> bool {
    first_segment(path) == "api"
}

/// Returns whether a path belongs to the authorization server, whose errors follow RFC 6749.
pub fn is_oauth(path: &str) -> bool {
    path.starts_with("/oauth2/")
}

/// Returns whether a path is one of those to which nodes of far regions send their own requests.
pub fn is_region_internal(path: &str) -> bool {
    path.starts_with("/region/")
}

/// Returns whether a path belongs to the metadata that any page may read.
pub fn is_well_known(path: &str) -> bool {
    path.starts_with("/.well-known/")
}

fn first_segment(path: &str) -> &str {
    let path = path.strip_prefix('/').unwrap_or(path);
    path.split('/').next().unwrap_or_default()
}

use Access::{AnyCredential, AnyOf, Public};
use CredentialKind::{Client, Key};
use Scope::{
    AgentsRead, AgentsWrite, ChatWrite, ConversationsRead, ConversationsWrite, EventsRead,
    KeysAdmin, MetricsRead, UserTokensIssue,
};
use Served::{Here, Home};

/// The cost of a chat, on REST and on sockets.
pub const CHAT_COST: &[RatePolicy] = &[RatePolicy::Requests, RatePolicy::Chat];

/// Makes the table, and the paths of the OpenAPI document from the same handlers.
macro_rules! operations {
    ($($method:ident $path:literal $module:ident::$handler:ident $access:expr;
        $($trait:ident $(= $value:expr)?),* ;)*) => {
        /// All operations.
        pub const OPERATIONS: &[Operation] = &[$(
            Operation {
                $($trait: operations!(@value $($value)?),)*
                ..Operation::new(
                    stringify!($handler),
                    operations!(@method $method),
                    $path,
                    $access,
                    || web::$method().to($module::$handler),
                )
            },
        )*];

        /// The paths of the OpenAPI document.
        #[derive(OpenApi)]
        #[openapi(paths($($module::$handler),*))]
        pub struct Paths;
    };
    (@value) => { true };
    (@value $value:expr) => { $value };
    (@method get) => { "GET" };
    (@method post) => { "POST" };
    (@method put) => { "PUT" };
    (@method patch) => { "PATCH" };
    (@method delete) => { "DELETE" };
}

#[rustfmt::skip]
operations! {
    post "/api/agents" agents::create_agent AnyOf(&[AgentsWrite]); idempotent, located, versioned;
    get "/api/agents" agents::list_agents AnyOf(&[AgentsRead]); paged, reads_log;
    get "/api/agents/{id}" agents::get_agent AnyOf(&[AgentsRead]); versioned, reads_log;
    patch "/api/agents/{id}" agents::patch_agent AnyOf(&[AgentsWrite]); conditional, versioned;
    delete "/api/agents/{id}" agents::delete_agent AnyOf(&[AgentsWrite]); conditional, versioned;
    get "/api/agents/{id}/config" agents::get_agent_config AnyOf(&[AgentsRead]); versioned, reads_log;
    put "/api/agents/{id}/config" agents::put_agent_config AnyOf(&[AgentsWrite]); conditional, versioned;
    post "/api/rules/test" agents::test_rules AnyOf(&[AgentsWrite]); names_agent;

    post "/api/chat" chat::chat AnyOf(&[ChatWrite]); idempotent, starts_turn, streams, names_agent, cost = CHAT_COST;

    post "/api/conversations" conversations::create_conversation AnyOf(&[ConversationsWrite]); idempotent, located, versioned, names_agent;
    get "/api/conversations" conversations::list_conversations AnyOf(&[ConversationsRead]); paged, reads_log;
    get "/api/conversations/{id}" conversations::get_conversation AnyOf(&[ConversationsRead]); versioned, reads_log;
    patch "/api/conversations/{id}" conversations::patch_conversation AnyOf(&[ConversationsWrite]); conditional, versioned;
    delete "/api/conversations/{id}" conversations::delete_conversation AnyOf(&[ConversationsWrite]); conditional, versioned;
    get "/api/conversations/{id}/stream" conversations::follow_conversation AnyOf(&[ConversationsRead]); streams;
    get "/api/conversations/{id}/turns" conversations::list_turns AnyOf(&[ConversationsRead]); paged, reads_log;
    get "/api/conversations/{id}/messages" conversations::list_messages AnyOf(&[ConversationsRead]); paged, reads_log;

    get "/api/turns/{id}" turns::get_turn AnyOf(&[ChatWrite, ConversationsRead]); reads_log;
    post "/api/turns/{id}/cancel" turns::cancel_turn AnyOf(&[ChatWrite]); ;

    get "/api/events" events::list_events AnyOf(&[EventsRead]); streams, reads_log, reads_query;
    get "/api/ws" socket::open_socket AnyOf(&[EventsRead]); served = Here, opens_socket;
    post "/api/ws/tickets" socket::create_ticket AnyOf(&[EventsRead]); optional_body;

    post "/api/keys" credentials::create_key AnyOf(&[KeysAdmin]); idempotent, secret, located, credentials = Some(Key);
    get "/api/keys" credentials::list_keys AnyOf(&[KeysAdmin]); served = Home, paged, credentials = Some(Key);
    get "/api/keys/{id}" credentials::get_key AnyOf(&[KeysAdmin]); served = Home, credentials = Some(Key);
    post "/api/keys/{id}/rotate" credentials::rotate_key AnyOf(&[KeysAdmin]); idempotent, secret, optional_body, credentials = Some(Key);
    delete "/api/keys/{id}" credentials::revoke_key AnyOf(&[KeysAdmin]); credentials = Some(Key);
    post "/api/oauth-clients" credentials::create_oauth_client AnyOf(&[KeysAdmin]); idempotent, located, credentials = Some(Client);
    get "/api/oauth-clients" credentials::list_oauth_clients AnyOf(&[KeysAdmin]); served = Home, paged, credentials = Some(Client);
    get "/api/oauth-clients/{id}" credentials::get_oauth_client AnyOf(&[KeysAdmin]); served = Home, credentials = Some(Client);
    post "/api/oauth-clients/{id}/rotate" credentials::rotate_oauth_client AnyOf(&[KeysAdmin]); idempotent, optional_body, credentials = Some(Client);
    delete "/api/oauth-clients/{id}" credentials::revoke_oauth_client AnyOf(&[KeysAdmin]); credentials = Some(Client);

    post "/api/user-tokens" user_tokens::create_user_token AnyOf(&[UserTokensIssue]); cost = &[RatePolicy::UserTokens];
    delete "/api/user-tokens" user_tokens::withdraw_user_tokens AnyOf(&[UserTokensIssue]); reads_query;

    get "/api/engines" catalogue::list_engines AnyCredential; served = Home;
    get "/api/capabilities" catalogue::list_capabilities AnyCredential; served = Home;
    get "/api/limits" limits_endpoint::get_limits AnyCredential; served = Here;
    get "/api/principal" principal::get_principal AnyCredential; served = Here;
    get "/api/regions" regions::list_regions AnyCredential; served = Here;
    get "/api/ping" regions::get_ping AnyCredential; served = Here;
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
    get "/openapi.json" documents::get_openapi Public; served = Here, versioned;
    get "/asyncapi.json" documents::get_asyncapi Public; served = Here, versioned;
    get "/problems" problem_catalogue::list_problems Public; served = Here;
    get "/problems/{code}" problem_catalogue::get_problem Public; served = Here;
    get "/" documents::get_console Public; served = Here;
}
