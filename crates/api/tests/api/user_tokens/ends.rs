//! The ends of tokens: withdrawal, revocation and rotation of their issuer, expiry.

use std::time::{Duration, Instant};

use domain::ProblemCode;
use serde_json::json;

use super::{BACKEND, PATH, backend, token, user, withdraw};
use crate::{
    api_server::{ApiServer, id_of},
    oauth::Client,
    sockets::client::{SocketClient, Upgrade},
};

#[tokio::test(flavor = "multi_thread")]
async fn withdrawn_tokens_are_rejected_at_once_and_later_ones_are_valid() {
    let api = ApiServer::start().await;
    let (_, backend) = backend(&api, BACKEND).await;
    let ada = user(&api, &backend, "ada").await;
    let elsewhere = user(&api, &backend, "ada").await;
    let bob = user(&api, &backend, "bob").await;
    for user in [&ada, &elsewhere, &bob] {
        user.get("/api/conversations").await.ok();
    }
    withdraw(&backend, "ada").await;
    for user in [&ada, &elsewhere] {
        let response = user.get("/api/conversations").await;
        response.problem(ProblemCode::InvalidCredentials);
        assert!(
            response
                .header("www-authenticate")
                .contains("error=\"invalid_token\"")
        );
    }
    bob.get("/api/conversations").await.ok();
    let later = user(&api, &backend, "ada").await;
    later.get("/api/conversations").await.ok();
    // A second withdrawal ends the later one too.
    withdraw(&backend, "ada").await;
    later
        .get("/api/conversations")
        .await
        .problem(ProblemCode::InvalidCredentials);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn sockets_and_streams_of_withdrawn_tokens_end() {
    let api = ApiServer::start().await;
    let (_, backend) = backend(&api, BACKEND).await;
    let ada = user(&api, &backend, "ada").await;
    let bob = user(&api, &backend, "bob").await;
    let mut by_header = SocketClient::connected(&api, &ada, &["tenant"]).await;
    let mut by_frame = Upgrade::new(&api).open().await;
    by_frame
        .connect(json!({"channels": [], "token": ada.key()}))
        .await;
    let ticket = ada.post("/api/ws/tickets", json!({})).await.created();
    let path = format!("/api/ws?ticket={}", ticket["ticket"].as_str().unwrap());
    let mut by_ticket = Upgrade::with_path(&api, &path).open().await;
    let mut other = SocketClient::connected(&api, &bob, &["tenant"]).await;
    let stream = ada
        .request("GET", "/api/events")
        .header("Accept", "text/event-stream");
    let stream = stream.open().await;
    let began = Instant::now();
    withdraw(&backend, "ada").await;
    for socket in [&mut by_header, &mut by_frame, &mut by_ticket] {
        assert_eq!(socket.wait_for_end().await.code, 4003);
    }
    stream.bytes().await.expect("the stream ends");
    assert!(
        began.elapsed() < Duration::from_secs(5),
        "{:?}",
        began.elapsed()
    );
    other.expect_success("ping", json!({})).await;
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_ticket_of_a_withdrawn_token_opens_no_socket() {
    let api = ApiServer::start().await;
    let (_, backend) = backend(&api, BACKEND).await;
    let ada = user(&api, &backend, "ada").await;
    let ticket = ada.post("/api/ws/tickets", json!({})).await.created();
    withdraw(&backend, "ada").await;
    let path = format!("/api/ws?ticket={}", ticket["ticket"].as_str().unwrap());
    let rejected = Upgrade::with_path(&api, &path).expect_rejection().await;
    assert_eq!(rejected.status_and_code(), (401, "invalid_ticket"));
    ada.post("/api/ws/tickets", json!({}))
        .await
        .problem(ProblemCode::InvalidCredentials);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_socket_is_refreshed_with_a_valid_token_of_the_same_user_only() {
    let api = ApiServer::start().await;
    let (_, backend) = backend(&api, BACKEND).await;
    let draft = json!({"userId": "ada", "expiresIn": 3});
    let short = api.caller(Some(&token(&backend, draft).await));
    let withdrawn = user(&api, &backend, "bob").await;
    let mut socket = SocketClient::connected(&api, &short, &["tenant"]).await;
    let mut of_bob = SocketClient::connected(&api, &withdrawn, &["tenant"]).await;
    for other in [user(&api, &backend, "bob").await, backend.clone()] {
        let token = json!({"token": other.key()});
        let problem = socket.expect_problem("refresh", token).await;
        assert_eq!(problem["code"], "invalid_credentials");
    }
    let longer = user(&api, &backend, "ada").await;
    socket
        .expect_success("refresh", json!({"token": longer.key()}))
        .await;
    // The first token ends, and the socket stays open.
    tokio::time::sleep(Duration::from_secs(4)).await;
    socket.expect_success("ping", json!({})).await;
    withdraw(&backend, "bob").await;
    assert_eq!(of_bob.wait_for_end().await.code, 4003);
    let new = user(&api, &backend, "bob").await;
    let mut of_bob = SocketClient::connected(&api, &new, &["tenant"]).await;
    let problem = of_bob
        .expect_problem("refresh", json!({"token": withdrawn.key()}))
        .await;
    assert_eq!(problem["code"], "invalid_credentials");
    of_bob.expect_success("ping", json!({})).await;
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_socket_ends_with_its_token() {
    let api = ApiServer::start().await;
    let (_, backend) = backend(&api, BACKEND).await;
    // Ends are whole seconds, so the token lasts at least one.
    let draft = json!({"userId": "ada", "expiresIn": 2});
    let short = api.caller(Some(&token(&backend, draft).await));
    let mut socket = SocketClient::connected(&api, &short, &["tenant"]).await;
    assert_eq!(socket.wait_for_close().await, 4203);
    let agent = api.agent(json!({"name": "Ada"})).await;
    let short = api.caller(Some(
        &token(&backend, json!({"userId": "ada", "expiresIn": 2})).await,
    ));
    let chat = Upgrade::with_path(&api, &format!("/ai-sdk/agents/{}/ws", id_of(&agent)));
    let mut socket = chat.with_caller(&short).open().await;
    assert_eq!(socket.wait_for_end().await.code, 4203);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn tokens_end_with_the_key_that_issued_them_but_not_with_its_secret() {
    let api = ApiServer::start().await;
    let (id, backend) = backend(&api, BACKEND).await;
    let ada = user(&api, &backend, "ada").await;
    let mut socket = SocketClient::connected(&api, &ada, &["tenant"]).await;
    let rotate = format!("/api/keys/{id}/rotate");
    api.writer().post(&rotate, json!({})).await.ok();
    backend
        .post(PATH, json!({"userId": "ada"}))
        .await
        .problem(ProblemCode::InvalidCredentials);
    ada.get("/api/conversations").await.ok();
    socket.expect_success("ping", json!({})).await;
    assert_eq!(
        api.writer().delete(&format!("/api/keys/{id}")).await.status,
        204
    );
    ada.get("/api/conversations")
        .await
        .problem(ProblemCode::InvalidCredentials);
    assert_eq!(socket.wait_for_end().await.code, 4003);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn tokens_end_with_the_client_that_issued_them() {
    let api = ApiServer::start().await;
    let client = Client::make(&api, BACKEND).await;
    let backend = api.caller(Some(&client.token(&api).await));
    let ada = user(&api, &backend, "ada").await;
    let shown = client.introspect(&api, ada.key()).await;
    assert_eq!(
        (&shown["active"], &shown["sub"]),
        (&json!(true), &json!("user:ada"))
    );
    assert_eq!(shown["client_id"], client.id);
    api.writer()
        .delete(&format!("/api/oauth-clients/{}", client.id))
        .await;
    ada.get("/api/conversations")
        .await
        .problem(ProblemCode::InvalidCredentials);
    api.stop().await;
}
