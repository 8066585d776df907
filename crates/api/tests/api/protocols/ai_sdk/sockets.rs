//! The frames of a chat socket.

use std::time::Duration;

use futures::{SinkExt as _, StreamExt as _};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio_tungstenite::{
    WebSocketStream,
    tungstenite::{
        Message,
        protocol::{
            Role,
            frame::{
                Frame,
                coding::{Data, OpCode},
            },
        },
    },
};

use crate::{
    api_server::{ApiServer, ApiServerBuilder, id_of},
    engines::scripted_agent,
    script::scripted,
    sockets::client::{SocketClient, Upgrade},
};

/// The timeout of a test that hangs.
const TIMEOUT: Duration = Duration::from_secs(30);

/// A chat socket.
pub(crate) struct ChatSocket(WebSocketStream<TcpStream>);

impl ChatSocket {
    pub(super) async fn open(api: &ApiServer, agent: &str) -> Self {
        Self::open_for(api, agent, None).await
    }

    /// Opens a socket whose request names a user.
    async fn open_for(api: &ApiServer, agent: &str, user: Option<&str>) -> Self {
        let upgrade = Upgrade::with_path(api, &format!("/ai-sdk/agents/{agent}/ws"));
        let mut upgrade = upgrade.with_caller(&api.writer());
        if let Some(user) = user {
            upgrade = upgrade.header("X-User-Id", user);
        }
        Self::over(upgrade.open().await).await
    }

    /// A chat socket on a connection that is open.
    pub(crate) async fn over(socket: SocketClient) -> Self {
        let connection = socket.into_connection();
        Self(WebSocketStream::from_raw_socket(connection, Role::Client, None).await)
    }

    pub(crate) async fn send(&mut self, frame: impl ToString) {
        let sent = self.0.send(Message::text(frame.to_string())).await;
        sent.expect("the socket is open");
    }

    /// Sends a frame during which the service may close the socket.
    async fn send_or_lose(&mut self, frame: impl ToString) {
        let _ = self.0.send(Message::text(frame.to_string())).await;
    }

    /// The next frame; `None` if the connection has ended.
    pub(crate) async fn next_frame(&mut self) -> Option<Value> {
        loop {
            let received = tokio::time::timeout(TIMEOUT, self.0.next()).await;
            match received.expect("a frame in time")?.ok()? {
                Message::Text(text) => return Some(serde_json::from_str(&text).expect("JSON")),
                Message::Ping(_) | Message::Pong(_) => {}
                _ => return None,
            }
        }
    }

    async fn receive(&mut self) -> Message {
        loop {
            let received = tokio::time::timeout(TIMEOUT, self.0.next()).await;
            let message = received.expect("a frame in time").expect("no end");
            match message.expect("a frame") {
                Message::Ping(_) | Message::Pong(_) => {}
                message => return message,
            }
        }
    }

    /// Waits for a frame of this type.
    pub(super) async fn frame(&mut self, kind: &str) -> Value {
        loop {
            let text = self.receive().await.into_text().expect("a text frame");
            let frame: Value = serde_json::from_str(&text).expect("JSON");
            if frame["type"] == kind {
                return frame;
            }
            assert_eq!(frame["type"], "chunk", "{frame}");
        }
    }

    /// Expects the next frame to be the error of this request, with these words.
    async fn assert_error(&mut self, request_id: &str, words: &str) {
        let error = self.frame("error").await;
        assert_eq!(error["requestId"], request_id, "{error}");
        let text = error["errorText"].as_str().expect("a text");
        assert!(text.contains(words), "{text}");
        assert!(text.contains("(validation_failed, request "), "{text}");
    }

    pub(super) async fn close_code(mut self) -> u16 {
        match self.receive().await {
            Message::Close(Some(close)) => close.code.into(),
            other => panic!("{other:?}"),
        }
    }
}

pub(crate) fn send_frame(request_id: &str, chat: &str, text: &str) -> Value {
    let parts = json!([{"type": "text", "text": text}]);
    json!({
        "type": "send", "requestId": request_id, "id": chat,
        "messages": [{"id": "m1", "role": "user", "parts": parts}],
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_frame_that_cannot_be_used_is_reported_to_its_request() {
    let (api, mut script, agent) = scripted_agent(json!({})).await;
    let mut socket = ChatSocket::open(&api, &agent).await;
    let mut nul = send_frame("r1", "c1", "Hello");
    nul["messageId"] = json!("a\0b");
    socket.send(&nul).await;
    socket.assert_error("r1", "/messageId: ").await;

    let twice = r#"{"type": "send", "requestId": "r2", "id": "c1", "id": "c2", "messages": []}"#;
    socket.send(twice).await;
    socket.assert_error("r2", "/id: ").await;

    socket
        .send(r#"{"type": "send", "requestId": "r3", "id": "c1"}"#)
        .await;
    socket.assert_error("r3", "/messages: ").await;

    for (request_id, rest) in [
        ("r4", r#""type": "send", "messages": []"#),
        ("r5", r#""type": "send", "id": "c1", "messages": null"#),
        ("r6", r#""type": "resume""#),
        ("r7", r#""type": "other""#),
        ("r8", r#""id": "c1""#),
    ] {
        let frame = format!(r#"{{"requestId": "{request_id}", {rest}}}"#);
        socket.send(frame).await;
        socket.assert_error(request_id, "").await;
    }

    socket.send(send_frame("r9", "c1", "Hello")).await;
    script.next_call().await.answer("Good morning").await;
    assert_eq!(socket.frame("start").await["requestId"], "r9");
    assert_eq!(socket.frame("end").await["requestId"], "r9");
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_user_is_named_in_a_header_of_any_case() {
    let (api, mut script, agent) = scripted_agent(json!({})).await;
    let mut socket = ChatSocket::open(&api, &agent).await;
    let mut frame = send_frame("r1", "c1", "Hello");
    frame["headers"] = json!({"X-User-Id": "grace"});
    socket.send(&frame).await;
    let call = script.next_call().await;
    assert_eq!(call.request.user_id.as_deref(), Some("grace"));
    call.answer("Hi").await;
    socket.frame("start").await;
    assert_eq!(socket.frame("end").await["requestId"], "r1");
    for (request_id, headers) in [
        ("r2", json!({"X-User-Id": ""})),
        ("r3", json!({"X-User-Id": "grace", "x-user-id": "ada"})),
    ] {
        let mut frame = send_frame(request_id, "c1", "Hello");
        frame["headers"] = headers;
        socket.send(&frame).await;
        let error = socket.frame("error").await;
        assert_eq!(error["requestId"], request_id, "{error}");
        let text = error["errorText"].as_str().expect("a text");
        assert!(text.contains("(invalid_header, request "), "{text}");
    }
    script.assert_no_more_calls();
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_frame_cannot_replace_the_user_of_the_socket() {
    let (api, mut script, agent) = scripted_agent(json!({})).await;
    let mut socket = ChatSocket::open_for(&api, &agent, Some("bob")).await;
    let resume = json!({"type": "resume", "id": "c1", "headers": {"X-User-Id": "grace"}});
    for (request_id, mut frame) in [("r1", send_frame("r1", "c1", "Hello")), ("r2", resume)] {
        frame["requestId"] = request_id.into();
        frame["headers"] = json!({"X-User-Id": "grace"});
        socket.send(&frame).await;
        let error = socket.frame("error").await;
        assert_eq!(error["requestId"], request_id, "{error}");
        let text = error["errorText"].as_str().expect("a text");
        assert!(text.contains("(invalid_header, request "), "{text}");
    }
    for headers in [json!({}), json!({"X-User-Id": "bob"})] {
        let mut frame = send_frame("r3", "c1", &headers.to_string());
        frame["headers"] = headers;
        socket.send(&frame).await;
        let call = script.next_call().await;
        assert_eq!(call.request.user_id.as_deref(), Some("bob"));
        call.answer("Hi").await;
        socket.frame("start").await;
        socket.frame("end").await;
    }
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_above_the_limit_is_rejected_and_the_others_continue() {
    let (engine, mut script) = scripted();
    let builder = ApiServerBuilder::default().engine("scripted", engine);
    let builder = builder.setting("LIMITS__CHAT__BURST", "100");
    let api = builder.setting("LIMITS__STREAMS", "100").start().await;
    let draft = json!({"name": "Ada", "config": {"engine": "scripted"}});
    let agent = id_of(&api.agent(draft).await);
    let mut socket = ChatSocket::open(&api, &agent).await;
    let mut calls = Vec::new();
    for number in 0..32 {
        let name = format!("r{number}");
        socket.send(send_frame(&name, &name, "Hello")).await;
        socket.frame("start").await;
        calls.push(script.next_call().await);
    }
    socket.send(send_frame("r32", "r32", "Hello")).await;
    let error = socket.frame("error").await;
    assert_eq!(error["requestId"], "r32", "{error}");
    script.assert_no_more_calls();
    for call in calls {
        call.answer("Hi").await;
        socket.frame("end").await;
    }
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_frame_without_a_readable_request_id_closes_the_socket() {
    let api = ApiServer::start().await;
    let agent = api.agent_id().await;
    for frame in [
        "{",
        "[]",
        r#"{"type": "abort"}"#,
        r#"{"type": "abort", "requestId": 7}"#,
    ] {
        let mut socket = ChatSocket::open(&api, &agent).await;
        socket.send(frame).await;
        assert_eq!(socket.close_code().await, 1002, "{frame}");
    }
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_frame_that_is_too_large_closes_the_socket() {
    let api = ApiServer::start().await;
    let agent = api.agent_id().await;
    let mut socket = ChatSocket::open(&api, &agent).await;
    socket
        .send(send_frame("r1", "c1", &"a".repeat(65_536)))
        .await;
    assert_eq!(socket.close_code().await, 1009);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_size_above_the_maximum_closes_the_socket_as_too_large() {
    let api = ApiServer::start().await;
    let agent = api.agent_id().await;
    for size in [65_530, 70_000, 300_000, 2_000_000] {
        let mut socket = ChatSocket::open(&api, &agent).await;
        socket
            .send_or_lose(send_frame("r1", "c1", &"a".repeat(size)))
            .await;
        assert_eq!(socket.close_code().await, 1009, "{size}");
    }
    // In fragments, each of which is small enough.
    let mut socket = ChatSocket::open(&api, &agent).await;
    for number in 0..6 {
        let code = if number == 0 {
            Data::Text
        } else {
            Data::Continue
        };
        let frame = Frame::message(vec![b'a'; 60_000], OpCode::Data(code), number == 5);
        if socket.0.send(Message::Frame(frame)).await.is_err() {
            break;
        }
    }
    assert_eq!(socket.close_code().await, 1009, "fragments");
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_above_the_limit_do_not_close_the_socket() {
    let (engine, mut script) = scripted();
    let builder = ApiServerBuilder::default().engine("scripted", engine);
    let builder = builder.setting("LIMITS__CHAT__BURST", "1000");
    let api = builder.setting("LIMITS__STREAMS", "1000").start().await;
    let draft = json!({"name": "Ada", "config": {"engine": "scripted"}});
    let agent = id_of(&api.agent(draft).await);
    let mut socket = ChatSocket::open(&api, &agent).await;
    for number in 0..200 {
        let name = format!("r{number}");
        socket.send(send_frame(&name, &name, "Hello")).await;
    }
    let (mut started, mut rejected) = (0, 0);
    while started + rejected < 200 {
        let text = socket.receive().await.into_text().expect("a text frame");
        let frame: Value = serde_json::from_str(&text).expect("JSON");
        match frame["type"].as_str() {
            Some("start") => started += 1,
            Some("error") => rejected += 1,
            _ => {}
        }
    }
    assert_eq!((started, rejected), (32, 168));
    for _ in 0..32 {
        script.next_call().await.answer("Hi").await;
    }
    for _ in 0..32 {
        socket.frame("end").await;
    }
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_id_of_an_open_request_is_rejected_and_abort_reaches_the_open_one() {
    let (api, mut script, agent) = scripted_agent(json!({})).await;
    let mut socket = ChatSocket::open(&api, &agent).await;
    socket.send(send_frame("r1", "c1", "Hello")).await;
    assert_eq!(socket.frame("start").await["requestId"], "r1");
    let call = script.next_call().await;

    socket.send(send_frame("r1", "c2", "Hello")).await;
    socket.assert_error("r1", "/requestId: ").await;
    script.assert_no_more_calls();

    socket
        .send(json!({"type": "abort", "requestId": "r1"}))
        .await;
    call.wait_until_stopped().await;
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_id_of_an_ended_request_can_be_used_again() {
    let api = ApiServer::start().await;
    let agent = api.agent_id().await;
    let mut socket = ChatSocket::open(&api, &agent).await;
    for _ in 0..20 {
        let resume = json!({"type": "resume", "requestId": "r1", "id": "c1"});
        socket.send(resume).await;
        assert_eq!(socket.frame("no-active").await["requestId"], "r1");
    }
    api.stop().await;
}
