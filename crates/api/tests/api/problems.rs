//! One test for every problem code of this version, and the catalogue of all codes. The module
//! `answer` checks that responses contain no other codes.

use std::sync::Arc;

use api::wiring;
use application::{ChatCommand, chat::OnBusy};
use contract::fixture;
use domain::{
    CredentialKind, CredentialSecret, Fingerprint, IdempotencyEntry, ProblemCode, Scope,
    config::Metadata,
};
use insta::assert_snapshot;
use ports::ReplyError;
use serde_json::json;

use crate::{
    api_server::{ApiServer, ApiServerBuilder, id_of},
    operations::UPGRADE,
    raw,
    response::ApiResponse,
    script::{FixedEngine, scripted},
    storage_probe::{InjectedFault, StorageProbe},
};

/// Codes of features that do not exist yet.
const NOT_YET: &[ProblemCode] = &[
    ProblemCode::InvalidSubprotocol,
    ProblemCode::TokenExpired,
    ProblemCode::UnknownCommand,
    ProblemCode::UpgradeRequired,
    ProblemCode::TooManyStreams,
    ProblemCode::IssuerUnavailable,
    ProblemCode::Overloaded,
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
}

/// Codes that need a faulty service: tested further down and in `rate_limits`.
const STAGED: &[ProblemCode] = &[
    ProblemCode::RateLimited,
    ProblemCode::RequestTimeout,
    ProblemCode::ConversationBusy,
    ProblemCode::TurnCancelled,
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
    let mut accounted: Vec<&str> = [PROVOKED, STAGED, NOT_YET]
        .concat()
        .iter()
        .map(|code| code.slug())
        .collect();
    let mut all: Vec<&str> = ProblemCode::ALL.iter().map(|code| code.slug()).collect();
    accounted.sort_unstable();
    all.sort_unstable();
    assert_eq!(accounted, all);
}

#[tokio::test(flavor = "multi_thread")]
async fn request_timeout() {
    let api = ApiServerBuilder::default()
        .setting("LIMITS__BODY_SECONDS", "1")
        .start()
        .await;
    // The body of an unauthenticated request is not awaited.
    let request = format!(
        "POST /api/agents HTTP/1.1\r\nHost: test\r\nX-API-Key: {}\r\nContent-Length: 9\r\n\r\n{{",
        api.writer().key()
    );
    let response = raw::answer(api.address, request).await;
    response.problem(ProblemCode::RequestTimeout);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn conversation_busy_and_turn_cancelled() {
    let (engine, mut script) = scripted();
    let api = ApiServerBuilder::default()
        .engine("scripted", engine)
        .start()
        .await;
    let draft = json!({"name": "Ada", "config": {"engine": "scripted"}});
    let agent = id_of(&api.agent(draft).await);
    let id = id_of(&api.conversation(json!({"agentId": agent})).await);
    let command = json!({
        "agentId": agent, "conversationId": id, "message": "Hello", "onBusy": "reject",
    });
    let writer = api.writer();
    let (cancelled, ()) = tokio::join!(writer.post("/api/chat", command.clone()), async {
        let call = script.next_call().await;
        let busy = writer.post("/api/chat", command).await;
        busy.problem(ProblemCode::ConversationBusy);
        let path = format!("/api/turns/{}/cancel", call.request.turn_id);
        writer.request("POST", &path).send().await.ok();
    });
    let problem = cancelled.problem(ProblemCode::TurnCancelled);
    assert_eq!(problem["conversationId"], id);
    let turn = crate::engines::turn(&api, problem["turnId"].as_str().unwrap()).await;
    assert_eq!(turn["status"], "cancelled");
    api.stop().await;
}

/// A chat whose key is used by something other than a turn.
#[tokio::test(flavor = "multi_thread")]
async fn idempotency_key_in_use() {
    let api = ApiServer::start().await;
    let agent = fixture::agent(1);
    let command = ChatCommand {
        agent_id: Some(agent.id),
        message: Some("Hello".to_owned()),
        conversation_id: None,
        conversation_key: None,
        supersedes: None,
        supersedes_itself: false,
        title: None,
        client_message_id: None,
        user_id: None,
        metadata: Metadata::new(),
        on_busy: OnBusy::Queue,
        request_id: None,
    };
    let secret = CredentialSecret::parse(CredentialKind::Key, api.writer().key());
    let principal = CredentialKind::Key.principal(&secret.expect("a key").id());
    let idempotency = IdempotencyEntry {
        principal,
        operation: "chat",
        fingerprint: Fingerprint::of(&command),
        created_at: wiring::system().0.now(),
        ..fixture::entry("k")
    };
    let (agents, tenant, stamp) = (&api.storage.agents, fixture::tenant(), fixture::stamp(0));
    let stored = agents.insert(&tenant, &agent, &stamp, Some(&idempotency));
    stored.await.expect("a store");
    let request = api.writer().request("POST", "/api/chat");
    let command = json!({"agentId": agent.id, "message": "Hello"});
    let response = request.header("Idempotency-Key", "k").json(&command);
    let response = response.send().await;
    response.problem(ProblemCode::IdempotencyKeyInUse);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn engine_failed_engine_unavailable_and_engine_timeout() {
    let api = ApiServerBuilder::default()
        .engine(
            "failed",
            FixedEngine(|| Err(ReplyError::Refused("10.0.0.7".into()))),
        )
        .engine(
            "away",
            FixedEngine(|| Err(ReplyError::Unavailable("10.0.0.7".into()))),
        )
        .engine(
            "limited",
            FixedEngine(|| Err(ReplyError::RateLimited { retry_after: None })),
        )
        .engine("slow", FixedEngine(|| Err(ReplyError::TimedOut)))
        .start()
        .await;
    for (engine, code) in [
        ("failed", ProblemCode::EngineFailed),
        ("away", ProblemCode::EngineUnavailable),
        ("limited", ProblemCode::EngineUnavailable),
        ("slow", ProblemCode::EngineTimeout),
    ] {
        let draft = json!({"name": "Ada", "config": {"engine": engine}});
        let agent = id_of(&api.agent(draft).await);
        let command = json!({"agentId": agent, "message": "Hello"});
        let response = api.writer().post("/api/chat", command).await;
        response.problem(code);
        assert!(!response.text().contains("10.0.0.7"), "{}", response.text());
        // "Could not be reached" would be false for rate limits and failures.
        assert!(!response.text().contains("reached"), "{}", response.text());
    }
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn internal_store_unavailable_and_interrupted() {
    let probe = Arc::new(StorageProbe::default());
    let wrapped = Arc::clone(&probe);
    let says_nothing = FixedEngine(|| Err(ReplyError::TimedOut));
    let builder = ApiServerBuilder::default().engine("slow", says_nothing);
    let api = builder
        .wrap_storage(move |storage| wrapped.wrap_storage(storage))
        .start()
        .await;
    let draft = json!({"name": "Ada", "config": {"engine": "slow"}});
    let agent = id_of(&api.agent(draft).await);
    probe.inject("agents.list", InjectedFault::Corrupt);
    let response = api.reader().get("/api/agents").await;
    response.problem(ProblemCode::Internal);
    assert!(
        !response.text().contains("agents.config"),
        "{}",
        response.text()
    );

    probe.inject("agents.list", InjectedFault::Unavailable);
    probe.inject("agents.insert", InjectedFault::Unavailable);
    probe.inject("maintenance.ping", InjectedFault::Unavailable);
    for response in [
        api.reader().get("/api/agents").await,
        api.writer()
            .post("/api/agents", json!({"name": "Bob"}))
            .await,
        api.anonymous().get("/readyz").await,
    ] {
        let problem = response.problem(ProblemCode::StoreUnavailable);
        assert!(
            problem["detail"]
                .as_str()
                .unwrap()
                .contains("same Idempotency-Key")
        );
    }
    probe.inject("turns.finish_turn", InjectedFault::Panic);
    let command = json!({"agentId": agent, "message": "Hello"});
    let request = api.writer().request("POST", "/api/chat").json(&command);
    let response = request.begin();
    while !probe.calls().contains(&"turns.finish_turn") {
        tokio::task::yield_now().await;
    }
    probe.clear_faults();
    // The turn is found to have no owner.
    let response = response.await.expect("an answer");
    response.problem(ProblemCode::Interrupted);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn draining() {
    let api = ApiServer::start().await;
    api.anonymous().get("/readyz").await.ok();
    let readiness = api.anonymous();
    let ending = api.drain_and_stop(std::time::Duration::from_mins(1));
    tokio::select! {
        biased;
        () = ending => panic!("a listener stays open while load balancers learn of the end"),
        response = async {
            // The shutdown has started.
            readiness.get("/readyz").await
        } => {
            response.problem(ProblemCode::Draining);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_catalogue_lists_every_code() {
    let api = ApiServer::start().await;
    let catalogue = api.anonymous().get("/problems").await.ok();
    let entries = catalogue["data"].as_array().expect("the catalogue");
    let codes: Vec<&str> = entries
        .iter()
        .filter_map(|entry| entry["code"].as_str())
        .collect();
    let all: Vec<&str> = ProblemCode::ALL.iter().map(|code| code.slug()).collect();
    assert_eq!(codes, all);
    for entry in entries {
        let path = format!("/problems/{}", entry["code"].as_str().unwrap());
        assert_eq!(api.anonymous().get(&path).await.ok(), *entry);
    }
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_type_of_a_problem_links_to_its_description() {
    let api = ApiServer::start().await;
    let problem = api.anonymous().get("/api/agents").await;
    let kind = problem.json()["type"].as_str().unwrap().to_owned();
    assert_snapshot!(api.anonymous().get(&kind).await.snapshot(), @r#"
    200 OK
    {
      "code": "unauthenticated",
      "remedy": "Send an API key in `X-API-Key`, or a token in `Authorization: Bearer`.",
      "retryable": false,
      "status": 401,
      "title": "A credential is needed."
    }
    "#);
    let browser = api.anonymous().request("GET", &kind);
    let page = browser
        .header("Accept", "text/html,application/xhtml+xml,*/*;q=0.8")
        .send()
        .await;
    assert_eq!(page.header("content-type"), "text/html; charset=utf-8");
    let mut varies = page.headers.get_all("vary").iter();
    assert!(varies.any(|header| header == "Accept"), "{page:?}");
    assert!(
        page.text().contains("<code>unauthenticated</code>"),
        "{}",
        page.text()
    );
    api.stop().await;
}
