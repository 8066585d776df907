//! One test for every problem code. The module `response` checks that responses contain no other
//! codes.

use domain::{ProblemCode, Scope};
use serde_json::json;

use crate::{
    api_server::{ApiServer, id_of},
    operations::UPGRADE,
    response::ApiResponse,
};

/// Codes that the tests of their features cover.
const OF_FEATURES: &[ProblemCode] = &[
    ProblemCode::InvalidSubprotocol,
    ProblemCode::TokenExpired,
    ProblemCode::UnknownCommand,
    ProblemCode::UpgradeRequired,
    ProblemCode::TooManyStreams,
    ProblemCode::IssuerUnavailable,
    ProblemCode::HomeUnavailable,
    ProblemCode::Overloaded,
    ProblemCode::FileNotFound,
    ProblemCode::FileInUse,
    ProblemCode::FileTypeNotAccepted,
    ProblemCode::FileRejected,
    ProblemCode::RangeNotSatisfiable,
    ProblemCode::InvalidOutput,
    ProblemCode::FilesUnavailable,
];

macro_rules! provoked {
    ($($name:ident: $code:ident = |$api:ident| $provoke:expr;)*) => {
        /// Codes with a test below.
        const PROVOKED: &[ProblemCode] = &[$(ProblemCode::$code),*];

        $(#[tokio::test(flavor = "multi_thread")]
        async fn $name() {
            let $api = ApiServer::start().await;
            let response: ApiResponse = $provoke;
            response.problem(ProblemCode::$code);
            $api.stop().await;
        })*
    };
}

provoked! {
    malformed_json: MalformedJson = |api| {
        api.writer().request("POST", "/api/agents").body("{").send().await
    };
    invalid_cursor: InvalidCursor = |api| api.reader().get("/api/agents?cursor=x").await;
    invalid_header: InvalidHeader = |api| {
        let request = api.writer().request("POST", "/api/agents").json(&json!({"name": "Ada"}));
        request.header("Idempotency-Key", "a b").send().await
    };
    ambiguous_credentials: AmbiguousCredentials = |api| {
        api.reader().request("GET", "/api/agents").header("Authorization", "Bearer x").send().await
    };
    unauthenticated: Unauthenticated = |api| api.anonymous().get("/api/agents").await;
    invalid_credentials: InvalidCredentials = |api| {
        api.caller(Some("agk_nonsense")).get("/api/agents").await
    };
    invalid_ticket: InvalidTicket = |api| {
        let request = api.anonymous().request("GET", "/api/ws?ticket=agt_x");
        let upgrade = UPGRADE.iter().fold(request, |request, (name, value)| request.header(name, value));
        upgrade.send().await
    };
    insufficient_scope: InsufficientScope = |api| {
        api.caller_with_scopes(&[Scope::ChatWrite]).await.get("/api/agents").await
    };
    origin_not_allowed: OriginNotAllowed = |api| {
        let origins = vec!["https://shop.example".to_owned()];
        let caller = api.caller_with_key(|key| key.allowed_origins = origins).await;
        caller.request("GET", "/api/agents").header("Origin", "https://evil.example").send().await
    };
    route_not_found: RouteNotFound = |api| api.reader().get("/api/nothing").await;
    agent_not_found: AgentNotFound = |api| api.reader().get("/api/agents/7").await;
    conversation_not_found: ConversationNotFound = |api| {
        api.reader().get("/api/conversations/7").await
    };
    turn_not_found: TurnNotFound = |api| api.reader().get("/api/turns/7").await;
    method_not_allowed: MethodNotAllowed = |api| {
        api.reader().request("DELETE", "/api/agents").send().await
    };
    not_acceptable: NotAcceptable = |api| {
        api.reader().request("GET", "/api/agents").header("Accept", "image/png").send().await
    };
    cursor_expired: CursorExpired = |api| api.reader().get("/api/events?since=9").await;
    version_mismatch: VersionMismatch = |api| {
        let path = format!("/api/agents/{}", api.agent_id().await);
        api.writer().request("DELETE", &path).header("If-Match", "\"v9\"").send().await
    };
    body_too_large: BodyTooLarge = |api| {
        let body = json!({"name": "x".repeat(256 * 1024)});
        api.writer().post("/api/agents", body).await
    };
    uri_too_long: UriTooLong = |api| {
        api.reader().get(&format!("/api/agents?name={}", "x".repeat(8 * 1024))).await
    };
    unsupported_media_type: UnsupportedMediaType = |api| {
        api.writer().request("POST", "/api/agents").raw_body("name=Ada").send().await
    };
    validation_failed: ValidationFailed = |api| api.writer().post("/api/agents", json!({})).await;
    idempotency_key_reused: IdempotencyKeyReused = |api| {
        let make = |name: &str| {
            let request = api.writer().request("POST", "/api/agents");
            request.header("Idempotency-Key", "k").json(&json!({"name": name})).send()
        };
        make("Ada").await.created();
        make("Bob").await
    };
    invalid_rule: InvalidRule = |api| {
        let rules = json!([{"pattern": "(", "reply": "x"}]);
        api.writer().post("/api/agents", json!({"name": "Ada", "config": {"rules": rules}})).await
    };
    key_not_found: KeyNotFound = |api| api.writer().get("/api/keys/0").await;
    conversation_key_in_use: ConversationKeyInUse = |api| {
        let agent = api.agent_id().await;
        let of = |user: &str| json!({"agentId": agent, "conversationKey": "k", "userId": user});
        api.conversation(of("ada")).await;
        let path = format!("/api/conversations/{}", id_of(&api.conversation(of("bob")).await));
        api.writer().patch(&path, json!({"userId": "ada"})).await
    };
    message_not_found: MessageNotFound = |api| {
        let agent = api.agent_id().await;
        let conversation = api.conversation(json!({"agentId": agent})).await;
        let path = format!("/api/conversations/{}/messages/0", id_of(&conversation));
        api.writer().delete(&path).await
    };
    note_not_found: NoteNotFound = |api| {
        let agent = api.agent_id().await;
        let conversation = api.conversation(json!({"agentId": agent})).await;
        let path = format!("/api/conversations/{}/notes/0", id_of(&conversation));
        api.writer().delete(&path).await
    };
    user_not_found: UserNotFound = |api| {
        api.writer().patch("/api/users?userId=nobody", json!({})).await
    };
    client_not_found: ClientNotFound = |api| api.writer().get("/api/oauth-clients/0").await;
    idempotency_key_used: IdempotencyKeyUsed = |api| {
        let create = || {
            let request = api.writer().request("POST", "/api/keys");
            let draft = json!({"name": "ci", "scopes": ["agents:read"]});
            request.header("Idempotency-Key", "k-1").json(&draft).send()
        };
        create().await.created();
        create().await
    };
    message_superseded: MessageSuperseded = |api| {
        let agent = api.agent_id().await;
        let reply = api.chat(json!({"agentId": agent, "message": "Hello"})).await;
        let retry = json!({"conversationId": reply["conversationId"], "supersedes": reply["messageId"]});
        api.chat(retry.clone()).await;
        api.writer().post("/api/chat", retry).await
    };
    unknown_engine: UnknownEngine = |api| {
        let config = json!({"engine": "oracle"});
        api.writer().post("/api/agents", json!({"name": "Ada", "config": config})).await
    };
    unknown_tool: UnknownTool = |api| {
        let config = json!({"tools": [{"name": "oracle"}]});
        api.writer().post("/api/agents", json!({"name": "Ada", "config": config})).await
    };
}

/// Codes that need a faulty service, or a turn that waits: tested in `faulty_service`, `rate_limits` and
/// `approvals`, and below the API.
const STAGED: &[ProblemCode] = &[
    ProblemCode::RateLimited,
    ProblemCode::RequestTimeout,
    ProblemCode::ConversationBusy,
    ProblemCode::TurnCancelled,
    ProblemCode::ActionNotFound,
    ProblemCode::ActionRequired,
    ProblemCode::ActionDecided,
    ProblemCode::ActionExpired,
    ProblemCode::OwnConversation,
    ProblemCode::Upgrading,
    ProblemCode::IdempotencyKeyInUse,
    ProblemCode::Internal,
    ProblemCode::EngineFailed,
    ProblemCode::EngineUnavailable,
    ProblemCode::EngineTimeout,
    ProblemCode::StoreUnavailable,
    ProblemCode::Draining,
    ProblemCode::Interrupted,
];

#[test]
fn every_code_has_a_test() {
    let mut accounted: Vec<&str> = [PROVOKED, STAGED, OF_FEATURES]
        .into_iter()
        .flatten()
        .map(ProblemCode::as_str)
        .collect();
    let mut all: Vec<&str> = ProblemCode::ALL.iter().map(ProblemCode::as_str).collect();
    accounted.sort_unstable();
    all.sort_unstable();
    assert_eq!(accounted, all);
}
