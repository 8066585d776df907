//! The end of sockets.

use std::time::Duration;

use serde_json::{Value, json};
use socket::SocketTimeouts;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio_tungstenite::tungstenite::{
    Message,
    protocol::{CloseFrame, frame::coding::CloseCode},
};

use super::client::{SocketClient, Upgrade};
use crate::api_server::{ApiServer, ApiServerBuilder};

#[tokio::test]
async fn a_binary_frame_closes_the_socket() {
    let api = ApiServer::start().await;
    let mut socket = SocketClient::connected(&api, &api.reader(), &[]).await;
    socket
        .send_message(Message::binary(b"bytes".to_vec()))
        .await;
    assert_eq!(socket.wait_for_close().await, 1003);
    api.stop().await;
}

#[tokio::test]
async fn a_client_that_closes_is_answered_with_its_own_code() {
    let api = ApiServer::start().await;
    let mut socket = SocketClient::connected(&api, &api.reader(), &[]).await;
    let close = CloseFrame {
        code: CloseCode::Normal,
        reason: "done".into(),
    };
    socket.send_message(Message::Close(Some(close))).await;
    let ended = socket.wait_for_end().await;
    assert_eq!(ended.code, 1000);
    assert_eq!(ended.goodbye, None);
    api.stop().await;
}

/// A frame with a masking key of zeros, which does not change its payload.
fn frame(first: u8, payload: &[u8]) -> Vec<u8> {
    let length = payload.len();
    let mut bytes = vec![first];
    if let Ok(short @ 0..126) = u8::try_from(length) {
        bytes.push(0x80 | short);
    } else {
        bytes.push(0xff);
        bytes.extend((length as u64).to_be_bytes());
    }
    bytes.extend([0; 4]);
    bytes.extend(payload);
    bytes
}

fn long(bytes: usize) -> Vec<u8> {
    vec![b'a'; bytes]
}

/// The bytes that the server sends to a client with this input, until it closes the connection.
async fn answer_to(api: &ApiServer, bytes: &[u8]) -> Vec<u8> {
    let mut connection = Upgrade::new(api)
        .with_caller(&api.reader())
        .open()
        .await
        .into_connection();
    connection.write_all(bytes).await.expect("it is taken");
    let mut received = Vec::new();
    let read = connection.read_to_end(&mut received);
    let read = tokio::time::timeout(Duration::from_secs(20), read).await;
    let _ = read.expect("the server hangs up");
    received
}

/// The code of the close frame at the end of the received bytes.
fn close_code(received: &[u8]) -> u16 {
    let index = received.iter().rposition(|byte| *byte == 0x88);
    let index = index.expect("a close frame");
    u16::from_be_bytes([received[index + 2], received[index + 3]])
}

#[tokio::test]
async fn protocol_violations_close_the_socket() {
    let api = ApiServer::start().await;
    let header_of_a_gibibyte = [&[0x81, 0xff][..], &(1_u64 << 30).to_be_bytes()].concat();
    let fragments = [
        frame(0x01, &long(60_000)),
        frame(0x00, &long(60_000)),
        frame(0x00, &long(60_000)),
        frame(0x00, &long(60_000)),
        frame(0x80, &long(60_000)),
    ]
    .concat();
    for (bytes, code) in [
        (header_of_a_gibibyte, 1009),
        (frame(0x81, &long(65_537)), 1009),
        (fragments, 1009),
        (frame(0x81, b"\xc3\x28"), 1007),
        (vec![0x81, 0x01, b'a'], 1002),
        (frame(0x83, b"a"), 1002),
    ] {
        let received = answer_to(&api, &bytes).await;
        assert_eq!(close_code(&received), code, "{:x?}", &bytes[..6]);
        let text = String::from_utf8_lossy(&received);
        assert!(text.contains(r#""type":"goodbye""#), "{text}");
    }
    api.stop().await;
}

#[tokio::test]
async fn the_largest_message_is_accepted() {
    let api = ApiServer::start().await;
    let mut socket = SocketClient::connected(&api, &api.writer(), &[]).await;
    let agent = api.agent_id().await;
    let message = "x".repeat(32_001);
    let problem = socket
        .expect_problem("chat", json!({"agentId": agent, "message": message}))
        .await;
    assert_eq!(problem["errors"][0]["code"], "too_long");
    let text = json!({"id": 99, "type": "ping", "padding": "x".repeat(65_000)}).to_string();
    socket.send(&text).await;
    assert_eq!(socket.reply(99).await["error"]["code"], "validation_failed");
    api.stop().await;
}

#[tokio::test]
async fn a_draining_server_sends_the_reconnect_delay() {
    let api = ApiServer::start().await;
    let mut sockets = Vec::new();
    for _ in 0..8 {
        sockets.push(SocketClient::connected(&api, &api.reader(), &["tenant"]).await);
    }
    let stopped = api.stop();
    let ends = async {
        let mut waits = Vec::new();
        for socket in &mut sockets {
            let ended = socket.wait_for_end().await;
            assert_eq!(ended.code, 4200);
            waits.push(ended.goodbye.unwrap()["reconnectAfterMs"].as_u64().unwrap());
        }
        waits
    };
    let ((), waits) = tokio::join!(stopped, ends);
    assert!(waits.iter().all(|wait| *wait <= 1_000), "{waits:?}");
    assert!(waits.iter().any(|wait| *wait != waits[0]), "{waits:?}");
}

#[tokio::test]
async fn a_draining_server_opens_no_sockets() {
    let api = ApiServer::start().await;
    let reader = api.reader();
    let (address, caller) = (api.address, reader.clone());
    let upgrade = || Upgrade::at_address(address, "/api/ws").with_caller(&caller);
    drop(upgrade().open().await);
    let stopped = api.drain_and_stop(Duration::from_secs(2));
    let late_command = async {
        let began = std::time::Instant::now();
        loop {
            match upgrade().try_open().await {
                Err(rejected) => return rejected,
                Ok(_) => assert!(began.elapsed().as_secs() < 2, "sockets are opened"),
            }
        }
    };
    let ((), rejected) = tokio::join!(stopped, late_command);
    assert_eq!(rejected.status_and_code(), (503, "draining"));
}

#[tokio::test]
async fn a_client_that_answers_no_ping_is_disconnected() {
    let times = SocketTimeouts {
        ping: Duration::from_millis(200),
        pong: Duration::from_secs(1),
        ..SocketTimeouts::default()
    };
    let api = ApiServerBuilder::default().sockets(times).start().await;
    // This client answers pings while it reads.
    let mut attentive = SocketClient::connected(&api, &api.reader(), &[]).await;
    let silent = Upgrade::new(&api).with_caller(&api.reader()).open().await;
    let mut connection = silent.into_connection();
    let mut received = Vec::new();
    let reading = connection.read_to_end(&mut received);
    let reading = tokio::time::timeout(Duration::from_secs(20), reading);
    let read = tokio::select! {
        read = reading => read,
        // It was pinged first, so its pong would be missed first.
        ended = attentive.wait_for_end_or_disconnect() => panic!("the attentive one was left: {ended:?}"),
    };
    let _ = read.expect("the server hangs up");
    assert_eq!(attentive.remaining().await, Vec::<Value>::new());
    assert_eq!(close_code(&received), 4202);
    // Both the protocol ping and the frame that pages can see.
    assert!(
        received.windows(2).any(|bytes| bytes == [0x89, 0x00]),
        "{received:x?}"
    );
    assert!(String::from_utf8_lossy(&received).contains(r#"{"type":"ping"}"#));
    api.stop().await;
}
