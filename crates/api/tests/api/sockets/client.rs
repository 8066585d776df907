//! A client of sockets. Every frame that it receives is held to what is published of frames.

use std::{collections::VecDeque, net::SocketAddr, sync::LazyLock, time::Duration};

use api::{body::Schemas, openapi, socket::frames};
use domain::Sizes;
use futures::{SinkExt as _, StreamExt as _};
use serde_json::{Value, json};
use tokio::net::{TcpSocket, TcpStream};
use tokio_tungstenite::{
    WebSocketStream,
    tungstenite::{
        self, Message,
        client::IntoClientRequest as _,
        handshake::client::Request,
        http::{HeaderName, HeaderValue},
        protocol::{CloseFrame, WebSocketConfig, frame::coding::CloseCode},
    },
};

use crate::{caller::Caller, harness::Api};

/// Long enough for a slow machine, short enough for a test that hangs.
const PATIENCE: Duration = Duration::from_secs(30);

/// What is published of frames.
static PUBLISHED: LazyLock<Schemas> = LazyLock::new(|| {
    let openapi = openapi::document(&Sizes::default(), "http://localhost").expect("a document");
    let document = frames::document(&openapi).expect("the frames' document");
    Schemas::new(&document, &["ServerFrame"]).expect("schemas")
});

/// Every frame that any test receives comes by here.
fn frames_seen(frame: &Value) {
    assert_eq!(PUBLISHED.check("ServerFrame", frame), [], "{frame}");
    super::conformance::seen(frame);
}

/// The request of an upgrade.
pub(crate) struct Upgrade {
    address: SocketAddr,
    request: Request,
    is_narrow: bool,
}

impl Upgrade {
    /// Without a credential.
    pub(crate) fn of(api: &Api) -> Self {
        Self::at(api, "/api/ws")
    }

    /// The same with a query.
    pub(crate) fn at(api: &Api, path: &str) -> Self {
        Self::of_service(api.address, path)
    }

    /// The same of a service that is about to go.
    pub(crate) fn of_service(address: SocketAddr, path: &str) -> Self {
        let url = format!("ws://{address}{path}");
        Self {
            address,
            request: url.into_client_request().expect("a request"),
            is_narrow: false,
        }
    }

    /// Over a connection that swallows little of what its client does not read.
    pub(crate) fn narrow(mut self) -> Self {
        self.is_narrow = true;
        self
    }

    async fn connection(&self) -> TcpStream {
        let socket = TcpSocket::new_v4().expect("a socket");
        if self.is_narrow {
            socket
                .set_recv_buffer_size(8 * 1024)
                .expect("a small buffer");
        }
        socket.connect(self.address).await.expect("connected")
    }

    pub(crate) fn header(mut self, name: &str, value: &str) -> Self {
        let name: HeaderName = name.parse().expect("a name");
        let value = HeaderValue::from_str(value).expect("a value");
        self.request.headers_mut().append(name, value);
        self
    }

    /// With a caller's credential.
    pub(crate) fn by(self, caller: &Caller) -> Self {
        if caller.key().starts_with("agk_") {
            self.header("X-API-Key", caller.key())
        } else {
            self.header("Authorization", &format!("Bearer {}", caller.key()))
        }
    }

    /// The socket, or the answer to a request that was refused.
    pub(crate) async fn try_open(self) -> Result<Socket, Refused> {
        let connection = self.connection().await;
        let mut config = WebSocketConfig::default();
        config.max_frame_size = None;
        config.max_message_size = None;
        let opened =
            tokio_tungstenite::client_async_with_config(self.request, connection, Some(config));
        match opened.await {
            Ok((stream, response)) => {
                assert_eq!(response.status(), 101);
                Ok(Socket {
                    protocol: text(response.headers().get("sec-websocket-protocol")),
                    stream,
                    unread: VecDeque::new(),
                    last_id: 0,
                })
            }
            Err(tungstenite::Error::Http(response)) => Err(Refused {
                status: response.status().as_u16(),
                problem: serde_json::from_slice(response.body().as_deref().unwrap_or_default())
                    .unwrap_or(Value::Null),
                headers: response.headers().clone(),
            }),
            Err(other) => panic!("{other}"),
        }
    }

    pub(crate) async fn open(self) -> Socket {
        let opened = self.try_open().await;
        opened.unwrap_or_else(|refused| panic!("{refused:?}"))
    }

    /// The refusal of this code.
    pub(crate) async fn refused(self) -> Refused {
        match self.try_open().await {
            Err(refused) => refused,
            Ok(_) => panic!("the socket was opened"),
        }
    }
}

fn text(value: Option<&HeaderValue>) -> Option<String> {
    value.map(|value| value.to_str().expect("text").to_owned())
}

/// The answer to an upgrade that was refused.
#[derive(Debug)]
pub(crate) struct Refused {
    pub(crate) status: u16,
    pub(crate) problem: Value,
    pub(crate) headers: tungstenite::http::HeaderMap,
}

impl Refused {
    /// Its status and its code.
    pub(crate) fn shown(&self) -> (u16, &str) {
        (self.status, self.problem["code"].as_str().unwrap_or("none"))
    }
}

/// How a socket ended.
#[derive(Debug, PartialEq)]
pub(crate) struct Ended {
    /// The code of the close frame.
    pub(crate) code: u16,
    /// The goodbye before it.
    pub(crate) goodbye: Option<Value>,
}

/// A socket that is open.
pub(crate) struct Socket {
    /// The subprotocol that was agreed on.
    pub(crate) protocol: Option<String>,
    stream: WebSocketStream<TcpStream>,
    /// Frames that came while something else was waited for.
    unread: VecDeque<Value>,
    last_id: u64,
}

impl Socket {
    /// A socket by a caller's credential that has connected to these channels.
    pub(crate) async fn connected(api: &Api, caller: &Caller, channels: &[&str]) -> Self {
        let mut socket = Upgrade::of(api).by(caller).open().await;
        let connected = socket.connect(json!({"channels": channels})).await;
        for channel in connected["channels"].as_array().expect("channels") {
            assert_eq!(channel["ok"], true, "{channel}");
        }
        socket
    }

    /// The result of `connect`.
    pub(crate) async fn connect(&mut self, members: Value) -> Value {
        self.carried_out("connect", members).await
    }

    /// The result of a command that is carried out.
    pub(crate) async fn carried_out(&mut self, command: &str, members: Value) -> Value {
        let reply = self.command(command, members).await;
        assert_eq!(reply["ok"], true, "{command}: {reply}");
        reply["result"].clone()
    }

    /// The problem of a command that is refused.
    pub(crate) async fn refused(&mut self, command: &str, members: Value) -> Value {
        let reply = self.command(command, members).await;
        assert_eq!(reply["ok"], false, "{command}: {reply}");
        reply["error"].clone()
    }

    /// The reply to a command.
    pub(crate) async fn command(&mut self, command: &str, members: Value) -> Value {
        let id = self.send_command(command, members).await;
        self.reply(id).await
    }

    /// Sends a command, and answers its id.
    pub(crate) async fn send_command(&mut self, command: &str, mut members: Value) -> u64 {
        self.last_id += 1;
        members["id"] = self.last_id.into();
        members["type"] = command.into();
        self.send(&members.to_string()).await;
        self.last_id
    }

    /// Sends a text frame.
    pub(crate) async fn send(&mut self, text: &str) {
        let sent = self.stream.send(Message::text(text)).await;
        sent.expect("the socket is open");
    }

    /// Sends a text frame; the server may have hung up already.
    pub(crate) async fn send_unheard(&mut self, text: &str) {
        self.send_message(Message::text(text)).await;
    }

    /// Sends any message; the server may have hung up already.
    pub(crate) async fn send_message(&mut self, message: Message) {
        let _ = self.stream.send(message).await;
    }

    /// The reply to the command of this id. What comes before it is kept.
    pub(crate) async fn reply(&mut self, id: u64) -> Value {
        let is_reply = |frame: &Value| frame["type"] == "reply" && frame["id"] == id;
        self.find(is_reply).await
    }

    /// The first frame of which this holds. What comes before it is kept.
    pub(crate) async fn find(&mut self, is_it: impl Fn(&Value) -> bool) -> Value {
        if let Some(place) = self.unread.iter().position(&is_it) {
            return self.unread.remove(place).expect("it is there");
        }
        loop {
            let frame = self.receive().await;
            if is_it(&frame) {
                return frame;
            }
            self.unread.push_back(frame);
        }
    }

    /// The next frame.
    pub(crate) async fn next(&mut self) -> Value {
        match self.unread.pop_front() {
            Some(frame) => frame,
            None => self.receive().await,
        }
    }

    /// The next frame, which must be of this type.
    pub(crate) async fn next_of(&mut self, kind: &str) -> Value {
        let frame = self.next().await;
        assert_eq!(frame["type"], kind, "{frame}");
        frame
    }

    /// The next reply, whatever comes before it.
    pub(crate) async fn next_of_reply(&mut self) -> Value {
        self.find(|frame| frame["type"] == "reply").await
    }

    /// The next event.
    pub(crate) async fn event(&mut self) -> Value {
        self.next_of("event").await["event"].clone()
    }

    /// Events up to the one of this type, which is among them.
    pub(crate) async fn events_to(&mut self, last: &str) -> Vec<Value> {
        let mut events = Vec::new();
        loop {
            let frame = self.next().await;
            if frame["type"] != "event" {
                continue;
            }
            events.push(frame["event"].clone());
            if frame["event"]["type"] == last {
                return events;
            }
        }
    }

    /// Nothing but this comes before the answer to a ping.
    pub(crate) async fn rest(&mut self) -> Vec<Value> {
        let id = self.send_command("ping", json!({})).await;
        let reply = self.reply(id).await;
        assert_eq!(reply["ok"], true, "{reply}");
        self.unread.drain(..).collect()
    }

    async fn receive(&mut self) -> Value {
        match self.receive_or_end().await {
            Ok(frame) => frame,
            Err(ended) => panic!("the socket has ended: {ended:?}; unread: {:?}", self.unread),
        }
    }

    /// The next frame that came while something else was waited for.
    pub(crate) fn unread(&mut self) -> Option<Value> {
        self.unread.pop_front()
    }

    /// How the socket ends; what comes before that is kept, but for the goodbye.
    pub(crate) async fn ended(&mut self) -> Ended {
        self.ended_or_gone().await.expect("a close frame")
    }

    /// The same, or nothing when the server hung up without a word.
    pub(crate) async fn ended_or_gone(&mut self) -> Option<Ended> {
        let mut goodbye = None;
        loop {
            match self.receive_or_end().await {
                Ok(frame) if frame["type"] == "goodbye" => goodbye = Some(frame),
                Ok(frame) => {
                    assert!(goodbye.is_none(), "{frame} after the goodbye");
                    self.unread.push_back(frame);
                }
                Err(code) => return code.map(|code| Ended { code, goodbye }),
            }
        }
    }

    /// The code with which the server closes the socket, which it has said goodbye with.
    pub(crate) async fn closed(&mut self) -> u16 {
        let ended = self.ended().await;
        let goodbye = ended.goodbye.expect("a goodbye");
        assert_eq!(goodbye["code"], ended.code, "{goodbye}");
        ended.code
    }

    /// The next frame, or how the connection ended.
    async fn receive_or_end(&mut self) -> Result<Value, Option<u16>> {
        loop {
            let received = tokio::time::timeout(PATIENCE, self.stream.next()).await;
            let received = received.unwrap_or_else(|_| panic!("nothing comes; {:?}", self.unread));
            match received {
                Some(Ok(Message::Text(text))) => {
                    let frame: Value = serde_json::from_str(&text).expect("JSON");
                    frames_seen(&frame);
                    if frame["type"] != "ping" {
                        return Ok(frame);
                    }
                }
                Some(Ok(Message::Ping(_) | Message::Pong(_))) => {}
                Some(Ok(Message::Close(close))) => {
                    let code = close.map(|close| u16::from(close.code));
                    // The server hangs up, too.
                    let last = tokio::time::timeout(PATIENCE, self.stream.next()).await;
                    assert!(matches!(last, Ok(None | Some(Err(_)))), "{last:?}");
                    return Err(code);
                }
                Some(Ok(other)) => panic!("{other:?}"),
                Some(Err(_)) | None => return Err(None),
            }
        }
    }

    /// Closes the socket, and answers the code that the server closes it with.
    pub(crate) async fn close(mut self) -> Option<u16> {
        let (code, reason) = (CloseCode::Normal, "".into());
        let close = CloseFrame { code, reason };
        self.send_message(Message::Close(Some(close))).await;
        loop {
            if let Err(code) = self.receive_or_end().await {
                return code;
            }
        }
    }

    /// The connection itself.
    pub(crate) fn into_connection(self) -> TcpStream {
        self.stream.into_inner()
    }
}

/// The type and channels of each event, in short.
pub(crate) fn shown(frames: &[Value]) -> Vec<String> {
    frames
        .iter()
        .map(|frame| match frame["type"].as_str().expect("a type") {
            "event" => format!(
                "{} {}",
                frame["event"]["seq"],
                frame["event"]["type"].as_str().expect("a type")
            ),
            "live" => frame["event"]["type"].as_str().expect("a type").to_owned(),
            other => other.to_owned(),
        })
        .collect()
}
