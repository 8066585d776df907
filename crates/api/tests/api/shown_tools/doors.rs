//! All doors through which tool calls are read.

use serde_json::{Value, json};

use super::reader::Reader;
use crate::{
    api_server::ApiServer,
    protocols::ai_sdk::sockets::{ChatSocket, send_frame},
    sse_client::EventStream,
};

/// A door through which a turn with tool calls is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Door {
    ChatStream,
    FollowedStream,
    RepeatedChat,
    Turn,
    CancelledTurn,
    Turns,
    Messages,
    EventPage,
    EventStream,
    Socket,
    ReplayingSocket,
    AiSdkStream,
    AiSdkFollowed,
    AiSdkMessages,
    AiSdkSocket,
    AgUiRun,
    AgUiThread,
    AgUiSnapshot,
    AgUiJoined,
    OpenAi,
}

impl Door {
    pub(super) fn shows_calls(self) -> bool {
        self != Self::OpenAi
    }

    /// Neither messages nor events have it.
    pub(super) const fn shows_reasoning(self) -> bool {
        match self {
            Self::ChatStream
            | Self::FollowedStream
            | Self::RepeatedChat
            | Self::Turn
            | Self::CancelledTurn
            | Self::Turns
            | Self::Socket
            | Self::AiSdkStream
            | Self::AiSdkFollowed
            | Self::AiSdkSocket
            | Self::AgUiRun
            | Self::AgUiJoined => true,
            Self::Messages
            | Self::EventPage
            | Self::EventStream
            | Self::ReplayingSocket
            | Self::AiSdkMessages
            | Self::AgUiThread
            | Self::AgUiSnapshot
            | Self::OpenAi => false,
        }
    }
}

/// Lets an agent call its tools, and reads the calls at every door.
pub(super) async fn walk(api: &ApiServer, agent: &str, reader: &Reader) -> Vec<(Door, String)> {
    let mut read = rest(agent, reader).await;
    read.extend(events(api, agent, reader).await);
    read.extend(ai_sdk(api, agent, reader).await);
    read.extend(ag_ui(agent, reader).await);
    let completion = json!({
        "model": agent, "stream": true, "messages": [{"role": "user", "content": "Hi"}],
    });
    let path = "/v1/chat/completions";
    let streamed = reader.text("POST", path, Some(&completion)).await;
    read.push((Door::OpenAi, streamed));
    read
}

async fn rest(agent: &str, reader: &Reader) -> Vec<(Door, String)> {
    let chat = json!({"agentId": agent, "message": "Hi", "stream": true});
    let streamed = reader.text("POST", "/api/chat", Some(&chat)).await;
    let chat = json!({"agentId": agent, "message": "Hi"});
    let send = || {
        let request = reader.request("POST", "/api/chat").json(&chat);
        request.header("Idempotency-Key", "rest")
    };
    let reply = send().send().await.ok();
    let repeated = send().header("Prefer", "respond-async").send().await;
    let [turn, conversation] =
        ["turnId", "conversationId"].map(|member| reply[member].as_str().expect("an id"));
    let turn = format!("/api/turns/{turn}");
    let conversation = format!("/api/conversations/{conversation}");
    let followed = format!("{conversation}/stream");
    let cancelled = reader.request("POST", &format!("{turn}/cancel"));
    vec![
        (Door::ChatStream, streamed),
        (Door::RepeatedChat, repeated.text().to_owned()),
        (Door::Turn, text_of(reader, &turn).await),
        (
            Door::CancelledTurn,
            cancelled.send().await.text().to_owned(),
        ),
        (
            Door::Turns,
            text_of(reader, &format!("{conversation}/turns")).await,
        ),
        (
            Door::Messages,
            text_of(reader, &format!("{conversation}/messages")).await,
        ),
        (
            Door::FollowedStream,
            reader.text("GET", &followed, None).await,
        ),
    ]
}

async fn text_of(reader: &Reader, path: &str) -> String {
    reader.get(path).await.text().to_owned()
}

/// The log after the creation of the agent, whose configuration names its tools, and sockets with live
/// data.
async fn events(api: &ApiServer, agent: &str, reader: &Reader) -> Vec<(Door, String)> {
    let page = text_of(reader, "/api/events?since=1&limit=100").await;
    let streamed = reader
        .request("GET", "/api/events?since=1")
        .header("Accept", "text/event-stream");
    let mut stream = EventStream::open(streamed).await;
    let mut received = String::new();
    loop {
        let event = stream.next().await.expect("the stream goes on");
        received.push_str(&event.data.to_string());
        if event.name == "turn.completed" {
            break;
        }
    }
    let mut socket = reader.socket(api, "/api/ws").await;
    socket.connect(json!({"channels": ["tenant"]})).await;
    let live = live_frames(&mut socket, agent).await;
    let mut replaying = reader.socket(api, "/api/ws").await;
    let channels = json!({"channels": ["tenant"], "since": 1});
    replaying.connect(channels).await;
    let replayed = frames_to(&mut replaying, "turn.completed").await;
    vec![
        (Door::EventPage, page),
        (Door::EventStream, received),
        (Door::Socket, live),
        (Door::ReplayingSocket, replayed),
    ]
}

/// The text of all frames of a turn that the socket has followed. One that ends before has no live parts.
async fn live_frames(socket: &mut crate::sockets::client::SocketClient, agent: &str) -> String {
    for _ in 0..20 {
        let chat = json!({"agentId": agent, "message": "Hi"});
        socket.expect_success("chat", chat).await;
        let frames = frames_to(socket, "turn.completed").await;
        if frames.contains(r#""type":"live""#) {
            return frames;
        }
    }
    panic!("the socket follows no turn");
}

/// The text of all frames up to the event of this type.
async fn frames_to(socket: &mut crate::sockets::client::SocketClient, last: &str) -> String {
    let mut text = String::new();
    loop {
        let frame = socket.next().await;
        text.push_str(&frame.to_string());
        if frame["event"]["type"] == last {
            return text;
        }
    }
}

async fn ai_sdk(api: &ApiServer, agent: &str, reader: &Reader) -> Vec<(Door, String)> {
    let path = format!("/ai-sdk/agents/{agent}");
    let parts = json!([{"type": "text", "text": "Hi"}]);
    let messages = json!([{"id": "m1", "role": "user", "parts": parts}]);
    let chat = json!({"id": "c1", "messages": messages});
    let sent = reader
        .text("POST", &format!("{path}/chat"), Some(&chat))
        .await;
    let followed = reader
        .text("GET", &format!("{path}/chat/c1/stream"), None)
        .await;
    let stored = reader
        .text("GET", &format!("{path}/chat/c1/messages"), None)
        .await;
    let socket = reader.socket(api, &format!("{path}/ws")).await;
    let mut socket = ChatSocket::over(socket).await;
    socket.send(send_frame("r1", "c2", "Hi")).await;
    let mut chunks = String::new();
    loop {
        let frame: Value = socket.next_frame().await.expect("the socket stays open");
        chunks.push_str(&frame.to_string());
        if frame["type"] == "end" {
            break;
        }
    }
    vec![
        (Door::AiSdkStream, sent),
        (Door::AiSdkFollowed, followed),
        (Door::AiSdkMessages, stored),
        (Door::AiSdkSocket, chunks),
    ]
}

async fn ag_ui(agent: &str, reader: &Reader) -> Vec<(Door, String)> {
    let path = format!("/ag-ui/agents/{agent}/run");
    let run = json!({
        "threadId": "t", "runId": "r", "protocolVersion": "1.0", "state": {}, "context": [],
        "tools": [], "forwardedProps": {},
        "messages": [{"id": "m1", "role": "user", "content": "Hi"}],
    });
    let sent = reader.text("POST", &path, Some(&run)).await;
    let thread = reader
        .text("GET", &format!("{path}?threadId=t"), None)
        .await;
    let snapshot = reader.request("GET", &format!("{path}?threadId=t"));
    let snapshot = snapshot.header("Accept", "text/event-stream").open().await;
    let snapshot = snapshot.text().await.expect("a whole stream");
    let joined = format!("{path}?offset=-1&threadId=t&runId=r");
    let joined = reader.text("GET", &joined, None).await;
    vec![
        (Door::AgUiRun, sent),
        (Door::AgUiThread, thread),
        (Door::AgUiSnapshot, snapshot),
        (Door::AgUiJoined, joined),
    ]
}
