//! Issuing tokens: their contents, and their limits.

use domain::ProblemCode;
use serde_json::{Value, json};

use super::{BACKEND, PATH, backend, token, user};
use crate::{
    api_server::{ApiServer, id_of},
    oauth::{Client, parts},
};

#[tokio::test(flavor = "multi_thread")]
async fn a_backend_issues_a_token_with_which_its_user_chats() {
    let api = ApiServer::start().await;
    let agent = api.agent_id().await;
    let (id, backend) = backend(&api, BACKEND).await;
    let made = backend.post(PATH, json!({"userId": "grace"})).await;
    assert_eq!(made.header("cache-control"), "no-store");
    let made = made.created();
    assert_eq!(made["expiresIn"], 3_600);
    assert_eq!(made.as_object().map(serde_json::Map::len), Some(2));
    let (header, claims) = parts(made["token"].as_str().expect("a token"));
    assert_eq!(header["typ"], "at+jwt");
    assert_eq!(
        (&claims["sub"], &claims["client_id"]),
        (&json!("user:grace"), &json!(id))
    );
    let grace = api.caller(made["token"].as_str());
    let reply = grace
        .post("/api/chat", json!({"agentId": agent, "message": "Hi"}))
        .await
        .ok();
    let path = format!(
        "/api/conversations/{}",
        reply["conversationId"].as_str().unwrap()
    );
    assert_eq!(grace.get(&path).await.ok()["userId"], "grace");
    let events = api.reader().get("/api/events?since=1").await.ok();
    let actors: Vec<&Value> = events["data"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| &it["actor"])
        .collect();
    assert!(
        actors.iter().all(|actor| **actor == "user:grace"),
        "{actors:?}"
    );
    // Without the scope that has to be requested.
    grace
        .get("/api/agents")
        .await
        .problem(ProblemCode::InsufficientScope);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_user_reaches_only_its_own_conversations_whoever_started_them() {
    let api = ApiServer::start().await;
    let agent = api.agent_id().await;
    let (_, backend) = backend(&api, BACKEND).await;
    let (ada, bob) = (
        user(&api, &backend, "ada").await,
        user(&api, &backend, "bob").await,
    );
    // The backend may start a conversation for its user.
    let draft = json!({"agentId": agent, "userId": "ada"});
    let own = id_of(&api.conversation(draft.clone()).await);
    let chat = json!({"agentId": agent, "conversationId": own, "message": "Hi"});
    let reply = ada.post("/api/chat", chat.clone()).await.ok();
    let turn = reply["turnId"].as_str().unwrap();
    let messages = ada
        .get(&format!("/api/conversations/{own}/messages"))
        .await
        .ok();
    let message = messages["data"][0]["id"].as_str().unwrap();
    bob.post("/api/chat", chat)
        .await
        .problem(ProblemCode::ConversationNotFound);
    let supersede = json!({"conversationId": own, "supersedes": message, "message": "Hello"});
    bob.post("/api/chat", supersede)
        .await
        .problem(ProblemCode::ConversationNotFound);
    for path in ["", "/messages", "/turns", "/stream"] {
        let response = bob.get(&format!("/api/conversations/{own}{path}")).await;
        response.problem(ProblemCode::ConversationNotFound);
    }
    bob.get(&format!("/api/turns/{turn}"))
        .await
        .problem(ProblemCode::TurnNotFound);
    let cancelled = bob
        .request("POST", &format!("/api/turns/{turn}/cancel"))
        .send()
        .await;
    cancelled.problem(ProblemCode::TurnNotFound);
    for path in ["/api/conversations", "/api/events?since=1"] {
        assert_eq!(bob.get(path).await.ok()["data"], json!([]), "{path}");
    }
    let as_other = bob.post("/api/conversations", draft).await;
    as_other.problem(ProblemCode::ValidationFailed);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn users_have_rate_limits_of_their_own() {
    let builder = crate::api_server::ApiServerBuilder::default()
        .setting("LIMITS__CHAT__PER_MINUTE", "1")
        .setting("LIMITS__CHAT__BURST", "1");
    let api = builder.start().await;
    let agent = api.agent_id().await;
    let (_, backend) = backend(&api, BACKEND).await;
    let chat = json!({"agentId": agent, "message": "Hi"});
    for user_id in ["ada", "bob"] {
        let user = user(&api, &backend, user_id).await;
        user.post("/api/chat", chat.clone()).await.ok();
        let again = user.post("/api/chat", chat.clone()).await;
        again.problem(ProblemCode::RateLimited);
        // Another token of the same user counts against the same limit.
        let other = super::user(&api, &backend, user_id).await;
        other
            .post("/api/chat", chat.clone())
            .await
            .problem(ProblemCode::RateLimited);
    }
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_user_id_in_two_tenants_is_two_users() {
    let api = ApiServer::start().await;
    let agent = api.agent_id().await;
    let (_, backend) = backend(&api, BACKEND).await;
    let ada = user(&api, &backend, "ada").await;
    let reply = ada
        .post("/api/chat", json!({"agentId": agent, "message": "Hi"}))
        .await
        .ok();
    let conversation = reply["conversationId"].as_str().unwrap().to_owned();
    let namesake = user(&api, &api.other_tenant(), "ada").await;
    let path = format!("/api/conversations/{conversation}");
    namesake
        .get(&path)
        .await
        .problem(ProblemCode::ConversationNotFound);
    assert_eq!(
        namesake.get("/api/conversations").await.ok()["data"],
        json!([])
    );
    super::withdraw(&api.other_tenant(), "ada").await;
    namesake
        .get(&path)
        .await
        .problem(ProblemCode::InvalidCredentials);
    ada.get(&path).await.ok();
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_caller_gives_a_user_more_scopes_than_it_has() {
    let api = ApiServer::start().await;
    let (_, chatter) = backend(&api, &["user-tokens:issue", "chat:write"]).await;
    let wanted = json!({"userId": "ada", "scopes": ["chat:write", "events:read"]});
    chatter
        .post(PATH, wanted)
        .await
        .problem(ProblemCode::InsufficientScope);
    let (_, claims) = parts(&token(&chatter, json!({"userId": "ada"})).await);
    assert_eq!(claims["scope"], "chat:write");
    // A token of a client with fewer scopes than the client.
    let client = Client::make(&api, BACKEND).await;
    let scope = ("scope", "user-tokens:issue chat:write");
    let narrowed = client
        .ask(&api, "/oauth2/token", &[crate::oauth::GRANT, scope])
        .await
        .ok();
    let narrowed = api.caller(narrowed["access_token"].as_str());
    let (_, claims) = parts(&token(&narrowed, json!({"userId": "ada"})).await);
    assert_eq!(
        (&claims["scope"], &claims["client_id"]),
        (&json!("chat:write"), &json!(client.id))
    );
    // A user cannot issue tokens, and cannot create keys.
    let (_, full) = backend(&api, BACKEND).await;
    let ada = user(&api, &full, "ada").await;
    ada.post(PATH, json!({"userId": "bob"}))
        .await
        .problem(ProblemCode::InsufficientScope);
    ada.delete(&format!("{PATH}?userId=bob"))
        .await
        .problem(ProblemCode::InsufficientScope);
    let key = json!({"name": "x", "scopes": ["chat:write"]});
    ada.post("/api/keys", key)
        .await
        .problem(ProblemCode::InsufficientScope);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn altered_tokens_are_rejected() {
    use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
    let api = ApiServer::start().await;
    let (_, backend) = backend(&api, BACKEND).await;
    let token = token(&backend, json!({"userId": "ada"})).await;
    let parts: Vec<&str> = token.split('.').collect();
    let read = |part: &str| -> Value {
        serde_json::from_slice(&URL_SAFE_NO_PAD.decode(part).unwrap()).unwrap()
    };
    let write = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let (header, claims) = (read(parts[0]), read(parts[1]));
    let mut altered = Vec::new();
    for (claim, value) in [
        ("sub", json!("user:bob")),
        ("scope", json!("keys:admin")),
        ("exp", json!(4_000_000_000_i64)),
        ("generation", json!(1)),
        ("allowed_origins", json!([])),
    ] {
        let mut changed = claims.clone();
        changed[claim] = value;
        altered.push(format!("{}.{}.{}", parts[0], write(&changed), parts[2]));
    }
    for algorithm in ["none", "HS256"] {
        let mut changed = header.clone();
        changed["alg"] = json!(algorithm);
        altered.push(format!("{}.{}.{}", write(&changed), parts[1], parts[2]));
        altered.push(format!("{}.{}.", write(&changed), parts[1]));
    }
    for text in altered {
        let response = api.caller(Some(&text)).get("/api/conversations").await;
        response.problem(ProblemCode::InvalidCredentials);
    }
    api.caller(Some(&token))
        .get("/api/conversations")
        .await
        .ok();
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_is_used_only_from_its_origins() {
    let api = ApiServer::start().await;
    let draft = json!({"name": "x", "scopes": BACKEND, "allowedOrigins": ["https://shop.example", "https://app.example"]});
    let made = api.writer().post("/api/keys", draft).await.created();
    let backend = api.caller(made["secret"].as_str());
    let foreign = json!({"userId": "ada", "allowedOrigins": ["https://evil.example"]});
    backend
        .post(PATH, foreign)
        .await
        .problem(ProblemCode::ValidationFailed);
    let of_key = token(&backend, json!({"userId": "ada"})).await;
    let selected = json!({"userId": "ada", "allowedOrigins": ["https://app.example"]});
    let of_app = token(&backend, selected).await;
    for (token, origin, is_allowed) in [
        (&of_key, "https://shop.example", true),
        (&of_key, "https://evil.example", false),
        (&of_app, "https://app.example", true),
        (&of_app, "https://shop.example", false),
    ] {
        let caller = api.caller(Some(token));
        let request = caller
            .request("GET", "/api/conversations")
            .header("Origin", origin);
        let response = request.send().await;
        if is_allowed {
            response.ok();
        } else {
            response.problem(ProblemCode::OriginNotAllowed);
        }
    }
    api.stop().await;
}
