//! The frames that a client receives.

use std::{sync::LazyLock, time::Duration};

use documents::openapi;
use domain::{EventType, Sizes};
use futures::StreamExt as _;
use kit::body::Schemas;
use serde_json::{Value, json};
use socket::frames;
use tokio_tungstenite::tungstenite::Message;

use super::SocketClient;
use crate::sockets::conformance;

/// The timeout of a test that hangs.
const TIMEOUT: Duration = Duration::from_secs(30);

/// The published schemas of frames.
static PUBLISHED: LazyLock<Schemas> = LazyLock::new(|| {
    let openapi = openapi::document(&Sizes::default(), "http://localhost").expect("a document");
    let document = frames::document(&openapi).expect("the frames' document");
    Schemas::new(&document, &["ServerFrame"]).expect("schemas")
});

/// Every frame that any test receives is checked here.
fn frames_seen(frame: &Value) {
    let event_type = frame["event"]["type"].as_str();
    if frame["type"] == "event" && event_type.and_then(EventType::known).is_none() {
        // The documents describe the events that this version writes.
        return;
    }
    assert_eq!(PUBLISHED.check("ServerFrame", frame), [], "{frame}");
    conformance::seen(frame);
}

/// The end of a socket.
#[derive(Debug, PartialEq)]
pub(crate) struct SocketEnd {
    /// The code of the close frame.
    pub(crate) code: u16,
    /// The goodbye before it.
    pub(crate) goodbye: Option<Value>,
}

impl SocketClient {
    /// The reply to the command with this id. Earlier frames are kept.
    pub(crate) async fn reply(&mut self, id: u64) -> Value {
        let is_reply = |frame: &Value| frame["type"] == "reply" && frame["id"] == id;
        self.find(is_reply).await
    }

    /// The first frame that matches. Earlier frames are kept.
    pub(crate) async fn find(&mut self, is_it: impl Fn(&Value) -> bool) -> Value {
        if let Some(index) = self.unread.iter().position(&is_it) {
            return self.unread.remove(index).expect("it is there");
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
    pub(crate) async fn next_of_type(&mut self, kind: &str) -> Value {
        let frame = self.next().await;
        assert_eq!(frame["type"], kind, "{frame}");
        frame
    }

    /// The next reply, after any other frames.
    pub(crate) async fn next_reply_data(&mut self) -> Value {
        self.find(|frame| frame["type"] == "reply").await
    }

    /// The next event.
    pub(crate) async fn event(&mut self) -> Value {
        self.next_of_type("event").await["event"].clone()
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

    /// Asserts that only these frames precede the answer to a ping.
    pub(crate) async fn remaining(&mut self) -> Vec<Value> {
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

    /// The next frame that was kept while waiting for another one.
    pub(crate) fn take_kept_frame(&mut self) -> Option<Value> {
        self.unread.pop_front()
    }

    /// The end of the socket; earlier frames are kept, except `goodbye`.
    pub(crate) async fn wait_for_end(&mut self) -> SocketEnd {
        self.wait_for_end_or_disconnect()
            .await
            .expect("a close frame")
    }

    /// The same, or `None` if the server closes the connection without one.
    pub(crate) async fn wait_for_end_or_disconnect(&mut self) -> Option<SocketEnd> {
        let mut goodbye = None;
        loop {
            match self.receive_or_end().await {
                Ok(frame) if frame["type"] == "goodbye" => goodbye = Some(frame),
                Ok(frame) => {
                    assert!(goodbye.is_none(), "{frame} after the goodbye");
                    self.unread.push_back(frame);
                }
                Err(code) => return code.map(|code| SocketEnd { code, goodbye }),
            }
        }
    }

    /// The code of the server's close frame, which must match its `goodbye`.
    pub(crate) async fn wait_for_close(&mut self) -> u16 {
        let ended = self.wait_for_end().await;
        let goodbye = ended.goodbye.expect("a goodbye");
        assert_eq!(goodbye["code"], ended.code, "{goodbye}");
        ended.code
    }

    /// The next frame, or the end of the connection.
    pub(super) async fn receive_or_end(&mut self) -> Result<Value, Option<u16>> {
        loop {
            let received = tokio::time::timeout(TIMEOUT, self.stream.next()).await;
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
                    // The server also closes the connection.
                    let last = tokio::time::timeout(TIMEOUT, self.stream.next()).await;
                    assert!(matches!(last, Ok(None | Some(Err(_)))), "{last:?}");
                    return Err(code);
                }
                Some(Ok(other)) => panic!("{other:?}"),
                Some(Err(_)) | None => return Err(None),
            }
        }
    }
}

/// The type and channels of each event.
pub(crate) fn types_and_channels(frames: &[Value]) -> Vec<String> {
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
