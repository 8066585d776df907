//! The client of a turn after the process has died: it repeats, regenerates, edits or goes on.

use std::time::Duration;

use dev_load::http::{Method, send};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use super::doubles::AT_ONCE;
use crate::acknowledgements::Nodes;

/// The longest that a client waits for a response.
const TIMEOUT: Duration = Duration::from_mins(1);
const PAUSE: Duration = Duration::from_millis(100);

/// The action of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Behaviour {
    /// Repeats the chat with its key.
    Repeat,
    /// Sends another message at once.
    WriteOn,
    /// Has the reply generated again.
    Regenerate,
    /// Changes its message.
    Edit,
    /// Continues in a copy of the conversation.
    Fork,
    /// Cancels the turn, and sends another message.
    Cancel,
}

impl Behaviour {
    pub(super) const ALL: [Self; 6] = [
        Self::Repeat,
        Self::WriteOn,
        Self::Regenerate,
        Self::Edit,
        Self::Fork,
        Self::Cancel,
    ];
}

/// A turn with three tools for one order, and its client.
#[derive(Debug, Clone)]
pub(super) struct OrderTurn {
    pub(super) order: String,
    pub(super) agent: String,
    pub(super) at_once: bool,
    pub(super) behaviour: Behaviour,
    pub(super) turn: String,
    pub(super) conversation: String,
}

impl OrderTurn {
    pub(super) fn chat(&self) -> Value {
        let how = if self.at_once {
            AT_ONCE
        } else {
            "step by step"
        };
        json!({ "agentId": self.agent, "message": format!("Settle {}, {how}.", self.order) })
    }

    /// The idempotency key of its chat.
    pub(super) fn key(&self) -> String {
        format!("key-{}", self.order)
    }
}

/// A client that repeats requests until they are answered.
pub(super) struct Client {
    pub(super) nodes: Nodes,
    /// The time at which it gives up.
    pub(super) until: Instant,
}

impl Client {
    /// Sends a request until the response is final. Returns null if there is none in time.
    pub(super) async fn call(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
        key: Option<&str>,
    ) -> (u16, Value) {
        let mut last = (0, Value::Null);
        for number in 0.. {
            if let Some(endpoint) = self.nodes.pick(number) {
                let mut request = endpoint.http(method.clone(), path);
                if let Some(body) = body {
                    request = request.json(body);
                }
                if let Some(key) = key {
                    request = request.header("Idempotency-Key", key);
                }
                if let Ok(response) = send(request, TIMEOUT).await {
                    last = (response.status, response.json());
                    if response.status < 400 || last.1["retryable"] != true {
                        break;
                    }
                }
            }
            if Instant::now() >= self.until {
                break;
            }
            sleep(PAUSE).await;
        }
        last
    }

    pub(super) async fn get(&self, path: &str) -> Value {
        self.call(Method::GET, path, None, None).await.1
    }

    /// Sends a chat until it is answered.
    pub(super) async fn chat(&self, body: &Value, key: &str) -> (u16, Value) {
        let path = "/api/chat";
        self.call(Method::POST, path, Some(body), Some(key)).await
    }

    /// Waits until no turn of a conversation is open. Returns its turns, or those that are open in the end.
    pub(super) async fn settle(&self, conversation: &str) -> Result<Vec<Value>, Vec<Value>> {
        let path = format!("/api/conversations/{conversation}/turns?limit=100");
        loop {
            let page = self.get(&path).await;
            let turns = page["data"].as_array().cloned();
            let (open, found) = match turns {
                Some(turns) => {
                    let is_open = |turn: &&Value| {
                        matches!(
                            turn["status"].as_str(),
                            Some("queued" | "in_progress") | None
                        )
                    };
                    (turns.iter().filter(is_open).cloned().collect(), turns)
                }
                None => (vec![page], Vec::new()),
            };
            if open.is_empty() {
                return Ok(found);
            }
            if Instant::now() >= self.until {
                return Err(open);
            }
            sleep(PAUSE).await;
        }
    }

    /// Acts as the client of a turn does. Returns the conversations that it has used, and the response
    /// to the repeated chat.
    pub(super) async fn act(&self, turn: &OrderTurn) -> (Vec<String>, Option<(u16, Value)>) {
        let conversation = &turn.conversation;
        let mut used = vec![conversation.clone()];
        let mut repeated = None;
        match turn.behaviour {
            Behaviour::Repeat => repeated = Some(self.chat(&turn.chat(), &turn.key()).await),
            Behaviour::WriteOn => self.write_on(turn, conversation, "meanwhile").await,
            Behaviour::Cancel => {
                let path = format!("/api/turns/{}/cancel", turn.turn);
                self.call(Method::POST, &path, None, None).await;
                self.write_on(turn, conversation, "cancelled").await;
            }
            Behaviour::Regenerate => self.supersede(turn, "agent", None).await,
            Behaviour::Edit => {
                let text = format!("Please settle {} today, step by step.", turn.order);
                self.supersede(turn, "user", Some(text)).await;
            }
            Behaviour::Fork => {
                // An open conversation is copied as far as it goes; the client waits for the reply.
                let _ = self.settle(conversation).await;
                let body = json!({ "forkOf": { "conversationId": conversation } });
                let key = format!("fork-{}", turn.order);
                let path = "/api/conversations";
                let made = self.call(Method::POST, path, Some(&body), Some(&key)).await;
                used.extend(made.1["id"].as_str().map(str::to_owned));
            }
        }
        // Whatever it has done, the model must still know what was done. A copy does not know what the
        // original does later: only the newest conversation goes on.
        if let Some(newest) = used.last()
            && self.settle(newest).await.is_ok()
        {
            self.write_on(turn, newest, "end").await;
        }
        (used, repeated)
    }

    async fn write_on(&self, turn: &OrderTurn, conversation: &str, when: &str) {
        let message = format!("Is {} done? If not, do it now.", turn.order);
        let body = json!({ "conversationId": conversation, "message": message });
        self.chat(&body, &format!("{when}-{}", turn.order)).await;
    }

    /// Replaces the newest message of this role once its turn has ended; repeats the chat if there is none.
    async fn supersede(&self, turn: &OrderTurn, role: &str, text: Option<String>) {
        let _ = self.settle(&turn.conversation).await;
        let path = format!(
            "/api/conversations/{}/messages?limit=100&order=desc",
            turn.conversation
        );
        let page = self.get(&path).await;
        let mut messages = page["data"].as_array().into_iter().flatten();
        let Some(message) = messages.find(|message| message["role"] == role) else {
            self.chat(&turn.chat(), &turn.key()).await;
            return;
        };
        let mut body = json!({ "conversationId": turn.conversation, "supersedes": message["id"] });
        if let Some(text) = text {
            body["message"] = text.into();
        }
        self.chat(&body, &format!("again-{}", turn.order)).await;
    }
}
