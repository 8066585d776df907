//! Requests for tokens that are rejected, and user ids that are accepted.

use domain::ProblemCode;
use serde_json::json;

use super::{BACKEND, PATH, backend, token};
use crate::{api_server::ApiServer, user_issuer::UserIssuer};

#[tokio::test(flavor = "multi_thread")]
async fn user_ids_are_checked() {
    let api = ApiServer::start().await;
    let (_, backend) = backend(&api, BACKEND).await;
    let long = "a".repeat(321);
    for (body, code) in [
        (json!({}), "required"),
        (json!({"userId": ""}), "too_short"),
        (json!({"userId": long}), "too_long"),
        (json!({"userId": "a\nb"}), "bad_character"),
        (json!({"userId": "a\u{0}"}), "bad_character"),
        (json!({"userId": "\u{85}"}), "bad_character"),
        (json!({"userId": 7}), "wrong_type"),
    ] {
        let response = backend.post(PATH, body.clone()).await;
        response.problem(ProblemCode::ValidationFailed);
        let expected = [("/userId".to_owned(), code.to_owned())];
        assert_eq!(response.faults(), expected, "{body}");
    }
    for query in [
        "",
        "?userId=",
        "?userId=a%0Ab",
        "?user=a",
        "?userId=a&userId=b",
    ] {
        let response = backend.delete(&format!("{PATH}{query}")).await;
        response.problem(ProblemCode::ValidationFailed);
    }
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn other_members_are_checked_too() {
    let api = ApiServer::start().await;
    let (_, backend) = backend(&api, BACKEND).await;
    for (member, value, pointer, code) in [
        ("expiresIn", json!(0), "/expiresIn", "too_small"),
        ("expiresIn", json!(86_401), "/expiresIn", "too_large"),
        ("expiresIn", json!(1.5), "/expiresIn", "wrong_type"),
        ("scopes", json!([]), "/scopes", "too_short"),
        (
            "scopes",
            json!(["keys:admin"]),
            "/scopes/0",
            "unknown_value",
        ),
        (
            "scopes",
            json!(["user-tokens:issue"]),
            "/scopes/0",
            "unknown_value",
        ),
        (
            "scopes",
            json!(["conversations:all"]),
            "/scopes/0",
            "unknown_value",
        ),
        (
            "allowedOrigins",
            json!(["*"]),
            "/allowedOrigins/0",
            "bad_format",
        ),
        ("tenant", json!("other"), "/tenant", "unknown_member"),
    ] {
        let mut body = json!({"userId": "a"});
        body[member] = value;
        let response = backend.post(PATH, body.clone()).await;
        response.problem(ProblemCode::ValidationFailed);
        assert_eq!(
            response.faults(),
            [(pointer.to_owned(), code.to_owned())],
            "{body}"
        );
    }
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_caller_without_scopes_of_users_cannot_issue_a_token() {
    let api = ApiServer::start().await;
    for scopes in [
        &["user-tokens:issue"][..],
        &["user-tokens:issue", "agents:read", "agents:write"],
    ] {
        let (_, backend) = backend(&api, scopes).await;
        let response = backend.post(PATH, json!({"userId": "grace"})).await;
        response.problem(ProblemCode::ValidationFailed);
        let expected = [("/scopes".to_owned(), "too_short".to_owned())];
        assert_eq!(response.faults(), expected, "{scopes:?}");
    }
    // One that is not among the default scopes can still be requested.
    let (_, backend) = backend(&api, &["user-tokens:issue", "agents:read"]).await;
    token(
        &backend,
        json!({"userId": "grace", "scopes": ["agents:read"]}),
    )
    .await;
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn any_other_user_id_is_kept_exactly() {
    let api = ApiServer::start().await;
    let (_, backend) = backend(&api, BACKEND).await;
    let longest = "🦊".repeat(320);
    for id in [
        "a",
        "Zoë 🦊",
        "e\u{301}",
        "a/b?c#d%20",
        "key:1",
        "user:x",
        "main~x",
        " ",
        "\"}{",
        &longest,
    ] {
        let user = api.caller(Some(&token(&backend, json!({"userId": id})).await));
        let listed = user.get("/api/conversations").await;
        listed.ok();
        let agent = api.agent_id().await;
        let reply = user
            .post("/api/chat", json!({"agentId": agent, "message": "Hi"}))
            .await
            .ok();
        let path = format!(
            "/api/conversations/{}",
            reply["conversationId"].as_str().unwrap()
        );
        assert_eq!(api.reader().get(&path).await.ok()["userId"], id);
    }
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn ids_of_users_of_an_identity_provider_are_rejected() {
    let issuer = UserIssuer::start().await;
    let api = issuer.trusting_server().start().await;
    let (_, backend) = backend(&api, BACKEND).await;
    for response in [
        backend.post(PATH, json!({"userId": "main~ada"})).await,
        backend.post(PATH, json!({"userId": "main~"})).await,
        backend.delete(&format!("{PATH}?userId=main~ada")).await,
    ] {
        response.problem(ProblemCode::ValidationFailed);
        assert_eq!(response.faults()[0].1, "unknown_value");
    }
    let withdrawal = backend.delete(&format!("{PATH}?userId=main~ada")).await;
    assert_eq!(withdrawal.json()["errors"][0]["parameter"], "userId");
    backend
        .post(PATH, json!({"userId": "other~ada"}))
        .await
        .created();
    // The provider cannot give its users the scope either.
    let ada = api.caller(Some(&issuer.token("ada", BACKEND)));
    let rejected = ada.post(PATH, json!({"userId": "bob"})).await;
    rejected.problem(ProblemCode::InsufficientScope);
    api.stop().await;
}
