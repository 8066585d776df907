//! Chat sockets whose clients read late or not at all.

use std::time::Duration;

use serde_json::{Value, json};
use socket::SocketTimeouts;
use tokio::io::AsyncReadExt as _;

use super::sockets::{ChatSocket, send_frame};
use crate::{
    api_server::{ApiServer, ApiServerBuilder, id_of},
    script::scripted,
    sockets::client::Upgrade,
};

/// The number of requests that follow a turn with a long reply: together they have more than the
/// operating system and a send queue of `/api/ws` buffer.
const READERS: usize = 16;

/// A server that disconnects slow clients after this time, and a socket with small buffers to which the
/// long reply of a chat is sent several times.
async fn replaying(times: SocketTimeouts) -> (ApiServer, ChatSocket, String) {
    let (engine, mut script) = scripted();
    let builder = ApiServerBuilder::default().engine("scripted", engine);
    let builder = builder.setting("LIMITS__STREAMS", "100").sockets(times);
    let api = builder.start().await;
    let draft = json!({"name": "Ada", "config": {"engine": "scripted"}});
    let agent = id_of(&api.agent(draft).await);
    let upgrade = Upgrade::with_path(&api, &format!("/ai-sdk/agents/{agent}/ws"));
    let upgrade = upgrade.with_caller(&api.writer()).with_small_buffers();
    let mut socket = ChatSocket::over(upgrade.open().await).await;
    let text = "y".repeat(1_000_000);
    socket.send(send_frame("r", "c1", "Hello")).await;
    script.next_call().await.answer(&text).await;
    assert_eq!(socket.frame("start").await["requestId"], "r");
    assert_eq!(socket.frame("end").await["requestId"], "r");
    for number in 0..READERS {
        let name = format!("r{number}");
        let resume = json!({"type": "resume", "requestId": name, "id": "c1"});
        socket.send(resume).await;
    }
    (api, socket, text)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_reads_late_receives_everything() {
    let (api, mut socket, text) = replaying(SocketTimeouts::default()).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    let mut ended = 0;
    let mut received = String::new();
    while ended < READERS {
        let frame: Value = socket.next_frame().await.expect("the socket stays open");
        received.push_str(frame["chunk"]["delta"].as_str().unwrap_or_default());
        ended += usize::from(frame["type"] == "end");
        assert_ne!(frame["type"], "error", "{frame}");
    }
    assert!(received == text.repeat(READERS), "{}", received.len());
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_does_not_read_is_disconnected() {
    let times = SocketTimeouts {
        write: Duration::from_secs(1),
        ..SocketTimeouts::default()
    };
    let (api, mut socket, _) = replaying(times).await;
    tokio::time::sleep(Duration::from_secs(4)).await;
    let mut ended = 0;
    while let Some(frame) = socket.next_frame().await {
        ended += usize::from(frame["type"] == "end");
    }
    assert!(ended < READERS, "everything was sent");
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_answers_no_ping_is_disconnected() {
    let times = SocketTimeouts {
        ping: Duration::from_millis(200),
        pong: Duration::from_secs(1),
        ..SocketTimeouts::default()
    };
    let api = ApiServerBuilder::default().sockets(times).start().await;
    let path = format!("/ai-sdk/agents/{}/ws", api.agent_id().await);
    let upgrade = Upgrade::with_path(&api, &path).with_caller(&api.writer());
    let mut connection = upgrade.open().await.into_connection();
    let mut received = Vec::new();
    let reading = connection.read_to_end(&mut received);
    let read = tokio::time::timeout(Duration::from_secs(20), reading).await;
    let _ = read.expect("the server hangs up");
    let [high, low] = 4202_u16.to_be_bytes();
    let close = [0x88, 2 + 7, high, low];
    assert!(
        received.windows(4).any(|bytes| bytes == close),
        "{received:?}"
    );
    api.stop().await;
}
