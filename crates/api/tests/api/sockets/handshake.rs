//! Socket upgrades and their errors.

use domain::{ProblemCode, Scope};
use serde_json::json;

use super::client::Upgrade;
use crate::{
    api_server::{ApiServer, ApiServerBuilder},
    raw::Connection,
};

#[tokio::test]
async fn a_header_credential_opens_a_socket_with_the_subprotocol() {
    let api = ApiServer::start().await;
    let plain = Upgrade::new(&api).with_caller(&api.reader()).open().await;
    assert_eq!(plain.protocol, None);
    let offered = Upgrade::new(&api)
        .with_caller(&api.reader())
        .header("Sec-WebSocket-Protocol", "chat, agent-service.v1")
        .open()
        .await;
    assert_eq!(offered.protocol.as_deref(), Some("agent-service.v1"));
    drop((plain, offered));
    api.stop().await;
}

#[tokio::test]
async fn other_subprotocols_are_rejected() {
    let api = ApiServer::start().await;
    let upgrade = Upgrade::new(&api).with_caller(&api.reader());
    let rejected = upgrade.header("Sec-WebSocket-Protocol", "agent-service.v2");
    let rejected = rejected.expect_rejection().await;
    assert_eq!(rejected.status_and_code(), (400, "invalid_subprotocol"));
    api.stop().await;
}

#[tokio::test]
async fn a_request_without_upgrade_requires_one() {
    let api = ApiServer::start().await;
    for method in ["GET", "HEAD"] {
        let response = api.reader().request(method, "/api/ws").send().await;
        assert_eq!(response.status, 426, "{method}");
        assert_eq!(response.header("upgrade"), "websocket");
    }
    let response = api.reader().get("/api/ws").await;
    response.problem(ProblemCode::UpgradeRequired);
    let response = api.anonymous().get("/api/ws").await;
    response.problem(ProblemCode::Unauthenticated);
    let chatter = api.caller_with_scopes(&[Scope::ChatWrite]).await;
    let response = chatter.get("/api/ws").await;
    response.problem(ProblemCode::InsufficientScope);
    api.stop().await;
}

#[tokio::test]
async fn a_head_request_is_never_an_upgrade() {
    let api = ApiServer::start().await;
    let response = api
        .reader()
        .request("HEAD", "/api/ws")
        .header("Connection", "Upgrade")
        .header("Upgrade", "websocket")
        .header("Sec-WebSocket-Version", "13")
        .header("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ==")
        .send()
        .await;
    assert_eq!(response.status, 426);
    api.stop().await;
}

#[tokio::test]
async fn a_malformed_handshake_is_refused() {
    let api = ApiServer::start().await;
    let handshake = |version: &'static str, key: &'static str| {
        api.reader()
            .request("GET", "/api/ws")
            .header("Connection", "Upgrade")
            .header("Upgrade", "websocket")
            .header("Sec-WebSocket-Version", version)
            .header("Sec-WebSocket-Key", key)
            .send()
    };
    let response = handshake("13", "short").await;
    response.problem(ProblemCode::InvalidHeader);
    let named = ("sec-websocket-key".to_owned(), "bad_format".to_owned());
    assert_eq!(response.faults(), [named]);
    let response = handshake("8", "dGhlIHNhbXBsZSBub25jZQ==").await;
    response.problem(ProblemCode::UpgradeRequired);
    assert_eq!(response.header("sec-websocket-version"), "13");
    api.stop().await;
}

#[tokio::test]
async fn an_upgrade_with_a_body_is_rejected() {
    let api = ApiServer::start().await;
    for (name, value) in [("Content-Length", "5"), ("Transfer-Encoding", "chunked")] {
        let upgrade = Upgrade::new(&api)
            .with_caller(&api.reader())
            .header(name, value);
        let rejected = upgrade.expect_rejection().await;
        assert_eq!(
            rejected.status_and_code(),
            (400, "invalid_header"),
            "{name}"
        );
    }
    api.stop().await;
}

#[tokio::test]
async fn a_bad_credential_opens_nothing() {
    let api = ApiServer::start().await;
    let bad = api.caller(Some("agk_nonsense"));
    let rejected = Upgrade::new(&api)
        .with_caller(&bad)
        .expect_rejection()
        .await;
    assert_eq!(rejected.status_and_code(), (401, "invalid_credentials"));
    let chatter = api.caller_with_scopes(&[Scope::ChatWrite]).await;
    let rejected = Upgrade::new(&api)
        .with_caller(&chatter)
        .expect_rejection()
        .await;
    assert_eq!(rejected.status_and_code(), (403, "insufficient_scope"));
    let rejected = Upgrade::with_path(&api, "/api/ws?token=x")
        .expect_rejection()
        .await;
    assert_eq!(rejected.status_and_code(), (422, "validation_failed"));
    api.stop().await;
}

#[tokio::test]
async fn a_ticket_opens_one_socket() {
    let api = ApiServer::start().await;
    let made = api
        .reader()
        .post("/api/ws/tickets", json!({}))
        .await
        .created();
    let path = format!("/api/ws?ticket={}", made["ticket"].as_str().unwrap());
    let rejected = Upgrade::with_path(&api, &path)
        .with_caller(&api.reader())
        .expect_rejection()
        .await;
    assert_eq!(rejected.status_and_code(), (400, "ambiguous_credentials"));
    let mut socket = Upgrade::with_path(&api, &path).open().await;
    let connected = socket.connect(json!({"channels": ["tenant"]})).await;
    assert_eq!(connected["tenantId"], "default");
    let rejected = Upgrade::with_path(&api, &path).expect_rejection().await;
    assert_eq!(rejected.status_and_code(), (401, "invalid_ticket"));
    drop(socket);
    api.stop().await;
}

#[tokio::test]
async fn only_pages_of_allowed_origins_open_sockets() {
    let builder =
        ApiServerBuilder::default().setting("SERVER__ALLOWED_ORIGINS", "https://shop.example");
    let api = builder.start().await;
    let from = |origin: &str| {
        let upgrade = Upgrade::new(&api).with_caller(&api.reader());
        upgrade.header("Origin", origin)
    };
    drop(from("https://shop.example").open().await);
    drop(from(&format!("http://{}", api.address)).open().await);
    let rejected = from("https://evil.example").expect_rejection().await;
    assert_eq!(rejected.status_and_code(), (403, "origin_not_allowed"));
    let upgrade = Upgrade::new(&api).header("Origin", "https://evil.example");
    let rejected = upgrade.expect_rejection().await;
    assert_eq!(rejected.status_and_code(), (403, "origin_not_allowed"));
    api.stop().await;
}

#[tokio::test]
async fn a_ticket_is_valid_only_on_pages_of_its_origin() {
    let origins = "https://shop.example,https://other.example";
    let builder = ApiServerBuilder::default().setting("SERVER__ALLOWED_ORIGINS", origins);
    let api = builder.start().await;
    let ticket = async || {
        let request = api.reader().request("POST", "/api/ws/tickets");
        let request = request.header("Origin", "https://shop.example");
        let made = request.json(&json!({})).send().await.created();
        format!("/api/ws?ticket={}", made["ticket"].as_str().unwrap())
    };
    let own = Upgrade::with_path(&api, &ticket().await).header("Origin", "https://shop.example");
    drop(own.open().await);
    let other = Upgrade::with_path(&api, &ticket().await).header("Origin", "https://other.example");
    assert_eq!(
        other.expect_rejection().await.status_and_code(),
        (401, "invalid_ticket")
    );
    let none = Upgrade::with_path(&api, &ticket().await);
    assert_eq!(
        none.expect_rejection().await.status_and_code(),
        (401, "invalid_ticket")
    );
    api.stop().await;
}

#[tokio::test]
async fn the_open_sockets_of_a_principal_are_limited() {
    let api = ApiServer::start().await;
    let caller = api
        .caller_with_key(|key| key.limits.streams = Some(2))
        .await;
    let first = Upgrade::new(&api).with_caller(&caller).open().await;
    let _second = Upgrade::new(&api).with_caller(&caller).open().await;
    let rejected = Upgrade::new(&api)
        .with_caller(&caller)
        .expect_rejection()
        .await;
    assert_eq!(rejected.status_and_code(), (429, "too_many_streams"));
    assert_eq!(rejected.headers["retry-after"], "1");
    assert_eq!(first.close().await, Some(1000));
    let patience = std::time::Instant::now();
    while Upgrade::new(&api)
        .with_caller(&caller)
        .try_open()
        .await
        .is_err()
    {
        assert!(patience.elapsed().as_secs() < 20, "the place is not freed");
    }
    api.stop().await;
}

#[tokio::test]
async fn an_upgrade_in_http_1_0_is_ignored() {
    let api = ApiServer::start().await;
    for (version, status) in [("1.1", "HTTP/1.1 101 "), ("1.0", "HTTP/1.0 426 ")] {
        let mut connection = Connection::open(api.address).await;
        let request = format!(
            "GET /api/ws HTTP/{version}\r\nHost: test\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
             Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\
             X-API-Key: {}\r\n\r\n",
            api.reader().key()
        );
        connection.send(request).await;
        let response = connection.receive().await;
        let response = String::from_utf8_lossy(&response);
        assert!(response.starts_with(status), "{response}");
    }
    api.stop().await;
}
