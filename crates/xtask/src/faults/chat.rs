//! What is said, and what must come back.

use std::time::Duration;

use serde_json::{Value, json};

use super::events::Events;
use crate::rig::{
    http::{Broken, Incoming, Response, within},
    load::Endpoint,
};

/// How long a client waits for the answer to a chat.
pub(super) const PATIENCE: Duration = Duration::from_secs(40);

/// A chat that can be told from all others, asked for once or several times.
#[derive(Debug, Clone)]
pub(super) struct Chat {
    /// Stands in the message and in the reply.
    pub(super) tag: String,
    pub(super) speaker: Speaker,
    /// A new one when absent.
    pub(super) conversation: Option<String>,
    /// With one, it may be repeated.
    pub(super) key: Option<String>,
    pub(super) form: Form,
}

/// Who answers.
#[derive(Debug, Clone)]
pub(super) enum Speaker {
    /// The agent of this id, by its rule, at once.
    Rules(String),
    /// The agent of this id, by a script.
    Scripted(String, Pace),
}

/// How fast a script is played.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Pace {
    /// Before the first delta.
    pub(super) first: Duration,
    /// Between each two.
    pub(super) between: Duration,
    /// Deltas after the first three.
    pub(super) more: usize,
}

/// The form in which an answer is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// The reply, once it is there.
    Whole,
    /// The turn, at once.
    Turn,
    /// What happens, as it happens.
    Stream,
}

/// Where something was said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) turn: String,
    pub(super) conversation: String,
}

/// What came of asking once.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Answer {
    /// The right reply.
    Replied(Place),
    /// A turn that goes on by itself.
    Accepted(Place),
    /// A problem.
    Refused {
        status: u64,
        code: String,
        retryable: bool,
    },
    /// Something that should never come.
    Wrong(String),
    /// No answer, or not the whole of it.
    Broken(Broken),
}

impl Chat {
    fn deltas(&self) -> Vec<String> {
        let mut deltas = vec!["Echo of ".to_owned(), self.tag.clone(), ".".to_owned()];
        if let Speaker::Scripted(_, pace) = &self.speaker {
            deltas.extend((0..pace.more).map(|number| format!(" More: {number} …")));
        }
        deltas
    }

    /// The only right reply.
    pub(super) fn reply(&self) -> String {
        self.deltas().concat()
    }

    /// What the user says.
    pub(super) fn message(&self) -> String {
        match &self.speaker {
            Speaker::Rules(_) => format!("Please echo {}", self.tag),
            Speaker::Scripted(_, pace) => json!({
                "deltas": self.deltas(),
                "firstPauseMs": milliseconds(pace.first),
                "pauseMs": milliseconds(pace.between),
            })
            .to_string(),
        }
    }

    /// The bytes of the request.
    pub(super) fn request(&self, endpoint: &Endpoint) -> Vec<u8> {
        let (Speaker::Rules(agent) | Speaker::Scripted(agent, _)) = &self.speaker;
        let mut body = json!({ "agentId": agent, "message": self.message() });
        if let Some(conversation) = &self.conversation {
            body["conversationId"] = json!(conversation);
        }
        let mut headers = Vec::new();
        if let Some(key) = &self.key {
            headers.push(("Idempotency-Key", key.as_str()));
        }
        match self.form {
            Form::Whole => {}
            Form::Turn => headers.push(("Prefer", "respond-async")),
            Form::Stream => headers.push(("Accept", "text/event-stream")),
        }
        endpoint.request_with("POST", "/api/chat", &headers, Some(&body))
    }

    /// Asks once.
    pub(super) async fn ask(&self, endpoint: &Endpoint, patience: Duration) -> Answer {
        let request = self.request(endpoint);
        let answered = within(patience, async {
            let incoming = Incoming::open(endpoint.address, &request).await?;
            if self.form == Form::Stream && incoming.status == 200 {
                self.follow(&mut Events::new(incoming)).await
            } else {
                Ok(self.judge(&incoming.whole().await?))
            }
        });
        answered.await.unwrap_or_else(Answer::Broken)
    }

    /// Reads a stream to its end.
    pub(super) async fn follow(&self, events: &mut Events) -> Result<Answer, Broken> {
        let mut said = String::new();
        while let Some(event) = events.next().await? {
            let data = &event.data;
            match event.name.as_str() {
                "turn.queued" | "turn.started" => {}
                "reply.delta" if data["from"] == said.len() => {
                    said.push_str(data["text"].as_str().unwrap_or_default());
                }
                "turn.completed" if said != self.reply() => {
                    return Ok(Answer::Wrong(format!("the deltas say: {said}")));
                }
                "turn.completed" => return Ok(self.replied(data)),
                "turn.failed" => return Ok(refused(&data["error"])),
                "turn.cancelled" => return Ok(refused(&json!({"code": "turn_cancelled"}))),
                _ => return Ok(Answer::Wrong(format!("{event:?} after {said}"))),
            }
        }
        Ok(Answer::Wrong("a stream that does not tell its end".into()))
    }

    fn judge(&self, response: &Response) -> Answer {
        let body = response.json();
        match response.status {
            200 => self.replied(&body),
            202 => place(&body, "id").map_or_else(|| wrong(&body), Answer::Accepted),
            _ => refused(&body),
        }
    }

    fn replied(&self, reply: &Value) -> Answer {
        match place(reply, "turnId") {
            Some(place) if reply["message"] == self.reply() => Answer::Replied(place),
            _ => wrong(reply),
        }
    }
}

fn wrong(body: &Value) -> Answer {
    Answer::Wrong(body.to_string())
}

fn refused(problem: &Value) -> Answer {
    match problem["code"].as_str() {
        Some(code) => Answer::Refused {
            status: problem["status"].as_u64().unwrap_or_default(),
            code: code.to_owned(),
            retryable: problem["retryable"] == true,
        },
        None => wrong(problem),
    }
}

/// The turn that an object tells of, and its conversation.
pub(super) fn place(value: &Value, turn: &str) -> Option<Place> {
    Some(Place {
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

    fn chat(speaker: Speaker) -> Chat {
        Chat {
            tag: "t-01".to_owned(),
            speaker,
            conversation: None,
            key: None,
            form: Form::Whole,
        }
    }

    #[test]
    fn only_the_very_reply_is_right() {
        let chat = chat(Speaker::Rules("a".to_owned()));
        let judged = |message: &str| {
            let body = json!({"turnId": "t", "conversationId": "c", "message": message});
            let body = body.to_string().into_bytes();
            chat.judge(&Response { status: 200, body })
        };
        assert!(matches!(judged("Echo of t-01."), Answer::Replied(_)));
        assert!(matches!(judged("Echo of t-02."), Answer::Wrong(_)));
    }

    #[test]
    fn a_script_says_the_reply() {
        let pace = Pace {
            first: Duration::from_millis(20),
            more: 2,
            ..Pace::default()
        };
        let chat = chat(Speaker::Scripted("a".to_owned(), pace));
        let message: Value = serde_json::from_str(&chat.message()).unwrap();
        let deltas = message["deltas"].as_array().unwrap().iter();
        let said: String = deltas.map(|delta| delta.as_str().unwrap()).collect();
        assert_eq!(said, chat.reply());
        assert_eq!(said, "Echo of t-01. More: 0 … More: 1 …");
        assert_eq!(message["firstPauseMs"], 20);
    }

    #[test]
    fn a_problem_is_a_refusal() {
        let problem = json!({"code": "overloaded", "status": 503, "retryable": true});
        let expected = Answer::Refused {
            status: 503,
            code: "overloaded".to_owned(),
            retryable: true,
        };
        assert_eq!(refused(&problem), expected);
        assert!(matches!(refused(&json!({})), Answer::Wrong(_)));
    }
}
