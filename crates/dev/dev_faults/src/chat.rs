//! A chat, its expected reply, and the outcomes of sending it.

use std::time::Duration;

use dev_load::{
    Endpoint,
    http::{Method, RequestBuilder, RequestError, Response, ResponseStream, within},
};
use serde_json::{Value, json};

use super::event_stream::EventStream;

/// The longest that a client waits for the response to a chat.
pub(super) const TIMEOUT: Duration = Duration::from_secs(40);

/// A chat with a unique reply, which is sent once or several times.
#[derive(Debug, Clone)]
pub(super) struct Chat {
    /// The unique part of message and reply.
    pub(super) tag: String,
    pub(super) agent: Agent,
    /// A new conversation when absent.
    pub(super) conversation: Option<String>,
    /// The idempotency key; a chat with a key may be repeated.
    pub(super) key: Option<String>,
    pub(super) response_mode: ResponseMode,
}

/// The agent of a chat.
#[derive(Debug, Clone)]
pub(super) enum Agent {
    /// The agent of this id replies at once, by its rule.
    Rules(String),
    /// The agent of this id plays the script that the message holds.
    Scripted(String, Pacing),
}

/// The speed of a script.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Pacing {
    /// The pause before the first delta.
    pub(super) first: Duration,
    /// The pause between two deltas.
    pub(super) between: Duration,
    /// The number of deltas after the first three.
    pub(super) more: usize,
}

/// The form of the response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ResponseMode {
    /// The complete reply.
    Full,
    /// The accepted turn, at once.
    Async,
    /// Server-sent events.
    Stream,
}

/// A turn and its conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TurnRef {
    pub(super) turn: String,
    pub(super) conversation: String,
}

/// The outcome of one request.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Outcome {
    /// The expected reply.
    Replied(TurnRef),
    /// An accepted turn.
    Accepted(TurnRef),
    /// A problem document.
    Rejected {
        status: u64,
        code: String,
        retryable: bool,
    },
    /// A response that must never be sent.
    Invalid(String),
    /// No complete response.
    Failed(RequestError),
}

impl Chat {
    fn deltas(&self) -> Vec<String> {
        let mut deltas = vec!["Echo of ".to_owned(), self.tag.clone(), ".".to_owned()];
        if let Agent::Scripted(_, pacing) = &self.agent {
            deltas.extend((0..pacing.more).map(|number| format!(" More: {number} …")));
        }
        deltas
    }

    /// The only valid reply.
    pub(super) fn reply(&self) -> String {
        self.deltas().concat()
    }

    /// The message of the user.
    pub(super) fn message(&self) -> String {
        match &self.agent {
            Agent::Rules(_) => format!("Please echo {}", self.tag),
            Agent::Scripted(_, pacing) => json!({
                "deltas": self.deltas(),
                "firstPauseMs": milliseconds(pacing.first),
                "pauseMs": milliseconds(pacing.between),
            })
            .to_string(),
        }
    }

    /// The body of the request.
    pub(super) fn body(&self) -> Value {
        let (Agent::Rules(agent) | Agent::Scripted(agent, _)) = &self.agent;
        let mut body = json!({ "agentId": agent, "message": self.message() });
        if let Some(conversation) = &self.conversation {
            body["conversationId"] = json!(conversation);
        }
        body
    }

    /// The request.
    pub(super) fn request(&self, endpoint: &Endpoint) -> RequestBuilder {
        let mut request = endpoint.http(Method::POST, "/api/chat").json(&self.body());
        if let Some(key) = &self.key {
            request = request.header("Idempotency-Key", key);
        }
        match self.response_mode {
            ResponseMode::Full => request,
            ResponseMode::Async => request.header("Prefer", "respond-async"),
            ResponseMode::Stream => request.header("Accept", "text/event-stream"),
        }
    }

    /// Sends the chat once.
    pub(super) async fn send(&self, endpoint: &Endpoint, timeout: Duration) -> Outcome {
        let outcome = within(timeout, async {
            let response = ResponseStream::open(self.request(endpoint)).await?;
            if self.response_mode == ResponseMode::Stream && response.status == 200 {
                self.read_stream(&mut EventStream::new(response)).await
            } else {
                Ok(self.judge(&response.collect().await?))
            }
        });
        outcome.await.unwrap_or_else(Outcome::Failed)
    }

    /// Reads a stream to its end.
    async fn read_stream(&self, events: &mut EventStream) -> Result<Outcome, RequestError> {
        let mut text = String::new();
        while let Some(event) = events.next().await? {
            let data = &event.data;
            match event.name.as_str() {
                "turn.queued" | "turn.started" => {}
                "reply.delta" if data["from"] == text.len() => {
                    text.push_str(data["text"].as_str().unwrap_or_default());
                }
                "turn.completed" if text != self.reply() => {
                    return Ok(Outcome::Invalid(format!("the deltas are: {text}")));
                }
                "turn.completed" => return Ok(self.judge_reply(data)),
                "turn.failed" => return Ok(rejected(&data["error"])),
                "turn.cancelled" => return Ok(rejected(&json!({"code": "turn_cancelled"}))),
                _ => return Ok(Outcome::Invalid(format!("{event:?} after {text}"))),
            }
        }
        Ok(Outcome::Invalid("a stream without a last event".into()))
    }

    fn judge(&self, response: &Response) -> Outcome {
        let body = response.json();
        match response.status {
            200 => self.judge_reply(&body),
            202 => turn_ref(&body, "id").map_or_else(|| invalid(&body), Outcome::Accepted),
            _ => rejected(&body),
        }
    }

    fn judge_reply(&self, reply: &Value) -> Outcome {
        match turn_ref(reply, "turnId") {
            Some(turn) if reply["message"] == self.reply() => Outcome::Replied(turn),
            _ => invalid(reply),
        }
    }
}

fn invalid(body: &Value) -> Outcome {
    Outcome::Invalid(body.to_string())
}

fn rejected(problem: &Value) -> Outcome {
    match problem["code"].as_str() {
        Some(code) => Outcome::Rejected {
            status: problem["status"].as_u64().unwrap_or_default(),
            code: code.to_owned(),
            retryable: problem["retryable"] == true,
        },
        None => invalid(problem),
    }
}

/// Returns the turn that the member `turn` of an object names, and its conversation.
pub(super) fn turn_ref(value: &Value, turn: &str) -> Option<TurnRef> {
    Some(TurnRef {
        turn: value[turn].as_str()?.to_owned(),
        conversation: value["conversationId"].as_str()?.to_owned(),
    })
}

fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_exact_reply_is_valid() {
        let chat = Chat {
            tag: "t-01".to_owned(),
            agent: Agent::Rules("a".to_owned()),
            conversation: None,
            key: None,
            response_mode: ResponseMode::Full,
        };
        let judged = |message: &str| {
            let body = json!({"turnId": "t", "conversationId": "c", "message": message});
            let body = body.to_string().into_bytes();
            chat.judge(&Response {
                status: 200,
                body,
                ..Response::default()
            })
        };
        assert!(matches!(judged("Echo of t-01."), Outcome::Replied(_)));
        assert!(matches!(judged("Echo of t-02."), Outcome::Invalid(_)));
    }

    #[test]
    fn a_problem_is_a_rejection() {
        let problem = json!({"code": "overloaded", "status": 503, "retryable": true});
        let expected = Outcome::Rejected {
            status: 503,
            code: "overloaded".to_owned(),
            retryable: true,
        };
        assert_eq!(rejected(&problem), expected);
        assert!(matches!(rejected(&json!({})), Outcome::Invalid(_)));
    }
}
