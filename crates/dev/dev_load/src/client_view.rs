//! The state that a client builds from the frames of its sockets.

use std::collections::BTreeMap;

use anyhow::{Result, bail};
use serde_json::{Value, json};

use crate::{
    Endpoint,
    socket::{self, Frame, Socket},
};

/// The state that a client has received.
#[derive(Default)]
pub struct ClientView {
    /// The position of the last event.
    pub cursor: i64,
    /// The texts of unfinished replies.
    pub texts: BTreeMap<String, String>,
    /// The replies of completed turns.
    pub completed: BTreeMap<String, String>,
    /// Violations of the protocol.
    pub violations: Vec<String>,
    /// The number of turns whose complete text arrived as live frames.
    pub streamed: usize,
    /// The number of lost sockets.
    pub sockets_lost: usize,
}

impl ClientView {
    /// Opens a socket that resumes after the cursor.
    pub async fn connect(&self, endpoint: &Endpoint) -> Result<Socket> {
        let mut socket = Socket::open(endpoint).await?;
        let command = json!({
            "id": 1, "type": "connect", "channels": ["tenant"], "since": self.cursor,
        });
        socket.send(&command).await?;
        Ok(socket)
    }

    /// Reads until the position `end`.
    pub async fn read(&mut self, socket: &mut Socket, end: i64) -> Result<()> {
        while self.cursor < end {
            match socket.next().await? {
                Frame::Text(frame) => self.apply(&socket::json(&frame)?),
                end => bail!("the server ended a socket: {end:?}"),
            }
        }
        Ok(())
    }

    /// Applies one frame.
    pub fn apply(&mut self, frame: &Value) {
        let event = &frame["event"];
        match frame["type"].as_str() {
            Some("event") => self.apply_event(event),
            Some("live") => self.apply_live(event),
            Some("reply") if frame["ok"] == true => {}
            Some("caughtUp" | "ping" | "goodbye") => {}
            _ => self.violations.push(format!("{frame}")),
        }
    }

    fn apply_event(&mut self, event: &Value) {
        let seq = event["seq"].as_i64().unwrap_or_default();
        if seq != self.cursor + 1 {
            let cursor = self.cursor;
            self.violations
                .push(format!("{cursor} is followed by {seq}"));
        }
        self.cursor = seq;
        if event["type"] == "turn.completed" {
            let turn = event["turnId"].as_str().unwrap_or_default().to_owned();
            let content = event["data"]["message"]["content"].as_str();
            let content = content.unwrap_or_default();
            let text = self.texts.remove(&turn).unwrap_or_default();
            if !content.starts_with(&text) {
                self.violations
                    .push(format!("{turn} has {content}, not {text}"));
            }
            self.streamed += usize::from(text == content);
            self.completed.insert(turn, content.to_owned());
        }
    }

    fn apply_live(&mut self, live: &Value) {
        let turn = live["turnId"].as_str().unwrap_or_default();
        if self.completed.contains_key(turn) {
            return;
        }
        let text = live["text"].as_str().unwrap_or_default();
        let known = self.texts.entry(turn.to_owned()).or_default();
        match live["type"].as_str() {
            Some("reply.delta") if live["from"] == known.len() => known.push_str(text),
            // A gap: the end of the turn repeats the whole text.
            Some("reply.delta") => {}
            Some("reply.snapshot") if live["to"] == text.len() => text.clone_into(known),
            _ => self.violations.push(format!("{live}")),
        }
    }
}
