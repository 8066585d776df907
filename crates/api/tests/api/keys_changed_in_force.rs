//! Changes of keys and clients are in force at once, and so for the tokens that they have issued.

use std::time::Duration;

use domain::ProblemCode;
use serde_json::{Value, json};

use crate::{
    api_server::{ApiServer, id_of},
    caller::Caller,
    keys_changed::create,
    oauth,
    response::ApiResponse,
    sockets::client::{SocketClient, Upgrade},
    user_tokens::{BACKEND, backend, token},
};

async fn get_from(caller: &Caller, origin: &str) -> ApiResponse {
    let request = caller.request("GET", "/api/principal");
    request.header("Origin", origin).send().await
}

/// The agents that a caller reaches.
async fn agents_of(caller: &Caller) -> Value {
    caller.get("/api/principal").await.ok()["agentIds"].take()
}

/// A client, its path, and a caller with one of its tokens.
async fn client(api: &ApiServer, scopes: &[&str]) -> (String, Caller) {
    let client = oauth::Client::make(api, scopes).await;
    let caller = api.caller(Some(&client.token(api).await));
    (format!("/api/oauth-clients/{}", client.id), caller)
}

#[tokio::test(flavor = "multi_thread")]
async fn origins_are_in_force_at_once() {
    let api = ApiServer::start().await;
    let (made, path) = create(&api.writer(), "/api/keys", &["agents:read"]).await;
    let key = api.caller(made["secret"].as_str());
    get_from(&key, "https://a.example").await.ok();
    for (origins, allowed) in [
        (json!(["https://b.example"]), false),
        (json!(["https://b.example", "https://a.example"]), true),
        (json!(["https://b.example"]), false),
        (Value::Null, true),
    ] {
        let change = json!({"allowedOrigins": origins});
        api.writer().patch(&path, change).await.ok();
        let response = get_from(&key, "https://a.example").await;
        if allowed {
            response.ok();
        } else {
            response.problem(ProblemCode::OriginNotAllowed);
        }
    }
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn limits_are_in_force_at_once() {
    let api = ApiServer::start().await;
    let (made, path) = create(&api.writer(), "/api/keys", &["agents:read"]).await;
    let key = api.caller(made["secret"].as_str());
    let (client_path, client) = client(&api, &["agents:read"]).await;
    for (caller, path) in [(&key, &path), (&client, &client_path)] {
        let defaults = caller.get("/api/limits").await.ok();
        let limits = json!({"requestsPerMinute": 1, "requestsBurst": 2});
        let change = json!({"limits": limits});
        api.writer().patch(path, change).await.ok();
        let mut last = caller.get("/api/limits").await;
        assert_eq!(last.header("ratelimit-policy"), r#""requests";q=1;w=60"#);
        for _ in 0..2 {
            last = caller.get("/api/limits").await;
        }
        last.problem(ProblemCode::RateLimited);
        let change = json!({"limits": null});
        api.writer().patch(path, change).await.ok();
        assert_eq!(caller.get("/api/limits").await.ok(), defaults);
    }
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn agents_are_in_force_at_once_also_for_tokens_issued_before() {
    let api = ApiServer::start().await;
    let [open, internal] = [api.agent_id().await, api.agent_id().await];
    let (id, backend) = backend(&api, BACKEND).await;
    let path = format!("/api/keys/{id}");
    let user = api.caller(Some(&token(&backend, json!({"userId": "ada"})).await));
    let (client_path, client) = client(&api, &["chat:write"]).await;
    let callers = [&backend, &user, &client];
    for (agents, expected) in [
        (Value::Null, Value::Null),
        (json!([open]), json!([open])),
        (json!([open, internal]), json!([open, internal])),
        (json!([internal]), json!([internal])),
        (Value::Null, Value::Null),
    ] {
        for path in [&path, &client_path] {
            let change = json!({"agentIds": agents});
            api.writer().patch(path, change).await.ok();
        }
        for caller in callers {
            assert_eq!(agents_of(caller).await, expected);
        }
    }
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_expired_key_is_valid_again_after_its_extension() {
    let api = ApiServer::start().await;
    let (made, path) = create(&api.writer(), "/api/keys", &["agents:read"]).await;
    let key = api.caller(made["secret"].as_str());
    let end = api::wiring::system().0.now() + Duration::from_secs(2);
    let ending = api.writer().patch(&path, json!({"expiresAt": end})).await;
    assert_eq!(ending.ok()["expiresAt"], json!(end));
    while key.get("/api/principal").await.status == 200 {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let rejected = key.get("/api/principal").await;
    rejected.problem(ProblemCode::InvalidCredentials);
    // It can be renamed without an extension.
    api.writer().patch(&path, json!({"name": "old"})).await.ok();
    key.get("/api/principal")
        .await
        .problem(ProblemCode::InvalidCredentials);
    let change = json!({"expiresAt": "2999-01-31T00:00:00Z"});
    api.writer().patch(&path, change).await.ok();
    key.get("/api/principal").await.ok();
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn sockets_and_tickets_end_when_their_credential_reaches_fewer_agents() {
    let api = ApiServer::start().await;
    let [open, internal] = [api.agent_id().await, api.agent_id().await];
    let (id, backend) = backend(&api, BACKEND).await;
    let path = format!("/api/keys/{id}");
    let user = json!({"userId": "ada", "scopes": &BACKEND[1..]});
    let user = api.caller(Some(&token(&backend, user).await));
    let narrow = json!({"userId": "ada", "scopes": &BACKEND[1..], "agentIds": [open]});
    let narrow = api.caller(Some(&token(&backend, narrow).await));
    let mut of_key = SocketClient::connected(&api, &backend, &["tenant"]).await;
    let mut of_user = SocketClient::connected(&api, &user, &["tenant"]).await;
    let mut stays = SocketClient::connected(&api, &narrow, &["tenant"]).await;
    let ticket = user.post("/api/ws/tickets", json!({})).await.created();
    let ticket = format!("/api/ws?ticket={}", ticket["ticket"].as_str().unwrap());

    let change = json!({"name": "renamed", "agentIds": [internal, open]});
    api.writer().patch(&path, change).await.ok();
    for socket in [&mut of_key, &mut of_user] {
        assert_eq!(socket.wait_for_close().await, 4203);
    }
    let refused = Upgrade::with_path(&api, &ticket).expect_rejection().await;
    assert_eq!(refused.status_and_code(), (401, "invalid_ticket"));
    let mut again = SocketClient::connected(&api, &backend, &["tenant"]).await;
    let change = json!({"agentIds": null, "limits": {"chatBurst": 1}});
    api.writer().patch(&path, change).await.ok();
    for socket in [&mut stays, &mut again] {
        socket.expect_success("ping", json!({})).await;
    }
    assert_eq!(id_of(&api.writer().get(&path).await.ok()), id);
    api.stop().await;
}
