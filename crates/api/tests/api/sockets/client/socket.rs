//! The frames that a client sends.

use std::collections::VecDeque;

use futures::SinkExt as _;
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio_tungstenite::{
    WebSocketStream,
    tungstenite::{
        Message,
        protocol::{CloseFrame, frame::coding::CloseCode},
    },
};

use super::Upgrade;
use crate::{api_server::ApiServer, caller::Caller};

/// A socket that is open.
pub(crate) struct SocketClient {
    /// The negotiated subprotocol.
    pub(crate) protocol: Option<String>,
    pub(super) stream: WebSocketStream<TcpStream>,
    /// Frames that were received while waiting for others.
    pub(super) unread: VecDeque<Value>,
    last_id: u64,
}

impl SocketClient {
    /// A new socket.
    pub(super) fn new(stream: WebSocketStream<TcpStream>, protocol: Option<String>) -> Self {
        Self {
            protocol,
            stream,
            unread: VecDeque::new(),
            last_id: 0,
        }
    }

    /// A socket with a caller's credential, connected to these channels.
    pub(crate) async fn connected(api: &ApiServer, caller: &Caller, channels: &[&str]) -> Self {
        let mut socket = Upgrade::new(api).with_caller(caller).open().await;
        let connected = socket.connect(json!({"channels": channels})).await;
        for channel in connected["channels"].as_array().expect("channels") {
            assert_eq!(channel["ok"], true, "{channel}");
        }
        socket
    }

    /// The result of `connect`.
    pub(crate) async fn connect(&mut self, members: Value) -> Value {
        self.expect_success("connect", members).await
    }

    /// The result of a command that succeeds.
    pub(crate) async fn expect_success(&mut self, command: &str, members: Value) -> Value {
        let reply = self.command(command, members).await;
        assert_eq!(reply["ok"], true, "{command}: {reply}");
        reply["result"].clone()
    }

    /// The problem of a command that fails.
    pub(crate) async fn expect_problem(&mut self, command: &str, members: Value) -> Value {
        let reply = self.command(command, members).await;
        assert_eq!(reply["ok"], false, "{command}: {reply}");
        reply["error"].clone()
    }

    /// The reply to a command.
    pub(crate) async fn command(&mut self, command: &str, members: Value) -> Value {
        let id = self.send_command(command, members).await;
        self.reply(id).await
    }

    /// Sends a command, and returns its id.
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

    /// Sends a text frame; the server may have closed the connection.
    pub(crate) async fn send_ignoring_errors(&mut self, text: &str) {
        self.send_message(Message::text(text)).await;
    }

    /// Sends any message; the server may have closed the connection.
    pub(crate) async fn send_message(&mut self, message: Message) {
        let _ = self.stream.send(message).await;
    }

    /// Closes the socket, and returns the server's close code.
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
