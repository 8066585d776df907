//! The rate limits of authenticated callers.

use std::time::{Duration, Instant};

use domain::{LimitOverrides, ProblemCode, Scope};
use insta::assert_snapshot;
use serde_json::json;

use crate::{
    api_server::{ApiServer, ApiServerBuilder, id_of},
    caller::Caller,
    raw,
    response::ApiResponse,
};

/// No quota is restored while a test runs.
const ONE_A_MINUTE: &str = "1";

pub(crate) fn slow_builder(burst: &str) -> ApiServerBuilder {
    ApiServerBuilder::default()
        .setting("LIMITS__REQUESTS__PER_MINUTE", ONE_A_MINUTE)
        .setting("LIMITS__REQUESTS__BURST", burst)
}

/// The response to a caller that exceeds its limit.
pub(crate) async fn first_refusal(caller: &Caller, path: &str) -> ApiResponse {
    let began = Instant::now();
    loop {
        let response = caller.get(path).await;
        if response.status != 200 {
            return response;
        }
        assert!(began.elapsed().as_secs() < 20, "nothing is refused");
    }
}

/// `(r, t)` of a policy in `RateLimit`.
#[track_caller]
pub(crate) fn remaining_and_reset(response: &ApiResponse, policy: &str) -> (u32, u64) {
    let list = response.header("ratelimit");
    let item = list
        .split(", ")
        .find_map(|item| item.strip_prefix(&format!("\"{policy}\";r=")));
    let (remaining, seconds) = item
        .and_then(|item| item.split_once(";t="))
        .unwrap_or_else(|| panic!("{policy} in {list}"));
    let seconds = seconds.parse().expect("seconds");
    (remaining.parse().expect("a number"), seconds)
}

#[track_caller]
fn assert_rejected(response: &ApiResponse, policy: &str) -> u64 {
    let problem = response.problem(ProblemCode::RateLimited);
    assert_eq!(problem["violatedPolicies"], json!([policy]));
    let wait: u64 = response.header("retry-after").parse().expect("seconds");
    assert_eq!(remaining_and_reset(response, policy), (0, wait));
    wait
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_above_the_burst_are_rejected() {
    let api = slow_builder("3").start().await;
    for remaining in [2, 1, 0] {
        let response = api.reader().get("/api/engines").await;
        response.ok();
        assert_eq!(
            response.header("ratelimit-policy"),
            r#""requests";q=1;w=60"#
        );
        let (received, seconds) = remaining_and_reset(&response, "requests");
        assert_eq!(received, remaining);
        assert!((30..=60).contains(&seconds), "{seconds}");
    }
    let rejected = api.reader().get("/api/engines").await;
    assert_snapshot!(rejected.snapshot(), @r#"
    429 Too Many Requests
    {
      "code": "rate_limited",
      "detail": "Wait for the seconds in `retryAfter`.",
      "instance": "/api/engines",
      "requestId": "[id]",
      "retryAfter": "[seconds]",
      "retryable": true,
      "status": 429,
      "title": "Too many requests.",
      "type": "/problems/rate_limited",
      "violatedPolicies": [
        "requests"
      ]
    }
    "#);
    let wait = assert_rejected(&rejected, "requests");
    assert!((30..=60).contains(&wait), "{wait}");
    assert_eq!(
        rejected.header("ratelimit-policy"),
        r#""requests";q=1;w=60"#
    );
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn after_retry_after_one_more_request_is_allowed() {
    let api = ApiServerBuilder::default()
        .setting("LIMITS__REQUESTS__PER_MINUTE", "120")
        .setting("LIMITS__REQUESTS__BURST", "1")
        .start()
        .await;
    let rejected = first_refusal(&api.reader(), "/api/engines").await;
    let wait = assert_rejected(&rejected, "requests");
    assert_eq!(wait, 1, "half a second, rounded up");
    tokio::time::sleep(Duration::from_secs(wait)).await;
    api.reader().get("/api/engines").await.ok();
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_caller_has_its_own_counters_and_limits() {
    let api = slow_builder("1").start().await;
    let own = LimitOverrides {
        requests_per_minute: Some(90),
        requests_burst: Some(1_000),
        streams: Some(2),
        ..LimitOverrides::default()
    };
    let favoured = api.caller_with_key(|key| key.limits = own).await;
    api.reader().get("/api/engines").await.ok();
    assert_rejected(&api.reader().get("/api/engines").await, "requests");
    api.writer().get("/api/engines").await.ok();
    api.other_tenant().get("/api/engines").await.ok();
    for _ in 0..3 {
        let response = favoured.get("/api/engines").await;
        response.ok();
        assert_eq!(
            response.header("ratelimit-policy"),
            r#""requests";q=90;w=60"#
        );
    }
    assert_eq!(
        remaining_and_reset(&favoured.get("/api/engines").await, "requests").1,
        1
    );
    let received = favoured.get("/api/limits").await.ok();
    let mut rates = received["rates"].clone();
    if let Some(rates) = rates.as_object_mut() {
        rates.remove("address");
    }
    assert_eq!(
        rates,
        json!({
            "requests": {"perMinute": 90, "burst": 1_000},
            "chat": {"perMinute": 100_000_000, "burst": 1_000_000},
            "userTokens": {"perMinute": 6_000, "burst": 1_000},
            "logBytes": {"perMinute": u32::MAX, "burst": u32::MAX},
            "streams": 2,
        })
    );
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_limits_endpoint_returns_the_defaults() {
    let api = ApiServer::start().await;
    let received = api.reader().get("/api/limits").await.ok();
    assert_eq!(received["rates"]["streams"], 32);
    let quota = json!({"perMinute": 100_000_000, "burst": 1_000_000});
    let is_guarded = cfg!(feature = "address-guard");
    assert_eq!(
        received["rates"]["address"] == quota,
        is_guarded,
        "{received}"
    );
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn chats_have_an_additional_limit() {
    let api = ApiServerBuilder::default()
        .setting("LIMITS__REQUESTS__PER_MINUTE", ONE_A_MINUTE)
        .setting("LIMITS__REQUESTS__BURST", "10")
        .setting("LIMITS__CHAT__PER_MINUTE", ONE_A_MINUTE)
        .setting("LIMITS__CHAT__BURST", "2")
        .start()
        .await;
    let command = json!({"agentId": api.agent_id().await, "message": "Hello"});
    let both = r#""requests";q=1;w=60, "chat";q=1;w=60"#;
    for remaining in [1, 0] {
        let response = api.writer().post("/api/chat", command.clone()).await;
        response.ok();
        assert_eq!(response.header("ratelimit-policy"), both);
        assert_eq!(remaining_and_reset(&response, "chat").0, remaining);
    }
    // In every spelling of the path.
    for path in ["/api/chat", "/api/ch%61t"] {
        let rejected = api.writer().post(path, command.clone()).await;
        assert_rejected(&rejected, "chat");
        assert_eq!(rejected.header("ratelimit-policy"), both);
    }
    // Creating the agent, two chats and two rejections all count as requests.
    let other = api.writer().get("/api/engines").await;
    other.ok();
    assert_eq!(remaining_and_reset(&other, "requests").0, 10 - 6);
    for _ in 0..4 {
        api.writer().get("/api/engines").await.ok();
    }
    let rejected = api.writer().post("/api/chat", command).await;
    assert_rejected(&rejected, "requests");
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn all_workers_count_together() {
    let api = slow_builder("6")
        .setting("SERVER__WORKERS", "2")
        .start()
        .await;
    // Each request has its own connection, and connections are distributed over the workers.
    let callers: [Caller; 12] = std::array::from_fn(|_| api.reader());
    let requests = callers.iter().map(|caller| caller.get("/api/engines"));
    let responses = futures::future::join_all(requests).await;
    let admitted = responses
        .iter()
        .filter(|response| response.status == 200)
        .count();
    assert_eq!((admitted, responses.len()), (6, 12));
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rejection_does_not_wait_for_the_body() {
    let api = slow_builder("1").start().await;
    api.reader().get("/api/engines").await.ok();
    let key = api.reader().key().to_owned();
    let head = format!(
        "POST /api/agents HTTP/1.1\r\nHost: test\r\nX-API-Key: {key}\r\n\
         Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{{"
    );
    let mut connection = raw::Connection::open(api.address).await;
    connection.send(head).await;
    let rejected = connection.answer_to("POST", "/api/agents").await;
    assert_rejected(&rejected, "requests");
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn rejected_chats_store_nothing() {
    let api = ApiServerBuilder::default()
        .setting("LIMITS__CHAT__PER_MINUTE", ONE_A_MINUTE)
        .setting("LIMITS__CHAT__BURST", "1")
        .start()
        .await;
    let agent = api.agent_id().await;
    let conversation = id_of(&api.conversation(json!({"agentId": agent})).await);
    let command = json!({"agentId": agent, "conversationId": conversation, "message": "Hello"});
    let chat = |key: &'static str| {
        let request = api.writer().request("POST", "/api/chat");
        request.header("Idempotency-Key", key).json(&command).send()
    };
    chat("first").await.ok();
    assert_rejected(&chat("second").await, "chat");
    let path = format!("/api/conversations/{conversation}");
    assert_eq!(api.reader().get(&path).await.ok()["messageCount"], 2);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn bytes_of_events_are_limited_for_each_principal() {
    let api = ApiServerBuilder::default()
        .setting("LIMITS__LOG_BYTES__PER_MINUTE", ONE_A_MINUTE)
        .setting("LIMITS__LOG_BYTES__BURST", "10000")
        .start()
        .await;
    let personality = "x".repeat(4_000);
    let agent = api
        .agent(json!({"name": "Ada", "personality": personality}))
        .await;
    let path = format!("/api/agents/{}", id_of(&agent));
    let caller = api.writer();
    caller.patch(&path, json!({"name": "Eve"})).await.ok();
    let rejected = caller.patch(&path, json!({"name": "Bob"})).await;
    let problem = rejected.problem(ProblemCode::RateLimited);
    assert_eq!(problem["violatedPolicies"], json!(["log_bytes"]));
    assert_eq!(
        problem["retryAfter"].to_string(),
        rejected.header("retry-after")
    );
    let config = caller
        .put(
            &format!("{path}/config"),
            json!({"llm": {"temperature": 0.5}}),
        )
        .await;
    config.problem(ProblemCode::RateLimited);
    assert_eq!(caller.get(&path).await.ok()["name"], "Eve");
    let quota = json!({"perMinute": 1, "burst": 10_000});
    assert_eq!(
        caller.get("/api/limits").await.ok()["rates"]["logBytes"],
        quota
    );

    let other = api.caller_with_scopes(&[Scope::AgentsWrite]).await;
    other.patch(&path, json!({"name": "Bob"})).await.ok();
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_first_burst_of_visitors_receives_its_tokens() {
    let builder = ApiServerBuilder::default()
        .setting("LIMITS__REQUESTS__PER_MINUTE", "600")
        .setting("LIMITS__REQUESTS__BURST", "100");
    let api = builder.start().await;
    let scopes = [Scope::UserTokensIssue, Scope::ChatWrite];
    let backend = api.caller_with_scopes(&scopes).await;
    for visitor in 0..300 {
        let draft = json!({"userId": format!("visitor-{visitor}")});
        let issued = backend.post("/api/user-tokens", draft).await;
        assert_eq!(issued.status, 201, "visitor {visitor}: {}", issued.text());
        let policy = "\"user_tokens\";q=6000;w=60";
        assert_eq!(issued.header("ratelimit-policy"), policy);
    }
    // The requests of the backend are still its own.
    let limits = backend.get("/api/limits").await;
    assert_eq!(remaining_and_reset(&limits, "requests").0, 99);
    assert_eq!(
        limits.ok()["rates"]["userTokens"],
        json!({"perMinute": 6000, "burst": 1000})
    );
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn tokens_of_users_are_limited_for_each_backend() {
    let builder = ApiServerBuilder::default()
        .setting("LIMITS__USER_TOKENS__PER_MINUTE", ONE_A_MINUTE)
        .setting("LIMITS__USER_TOKENS__BURST", "2");
    let api = builder.start().await;
    let scopes = [Scope::UserTokensIssue, Scope::ChatWrite];
    let [first, second] = [
        api.caller_with_scopes(&scopes).await,
        api.caller_with_scopes(&scopes).await,
    ];
    let issue = |caller: &Caller| {
        let caller = caller.clone();
        async move {
            caller
                .post("/api/user-tokens", json!({"userId": "ada"}))
                .await
        }
    };
    for _ in 0..2 {
        assert_eq!(issue(&first).await.status, 201);
    }
    assert_rejected(&issue(&first).await, "user_tokens");
    assert_eq!(issue(&second).await.status, 201);
    first.get("/api/limits").await.ok();
    api.stop().await;
}
