//! The acknowledgements that a client received for its chat.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use dev_load::{
    Endpoint,
    http::{Method, RequestError, send},
};
use parking_lot::Mutex;
use tokio::time::{Instant, sleep};

use super::chat::{Chat, Outcome, TIMEOUT, TurnRef};

/// The pause before a request is repeated.
const PAUSE: Duration = Duration::from_millis(200);

/// The running processes of the service. Shared by all clients.
#[derive(Clone, Default)]
pub(super) struct Nodes(Arc<Mutex<Vec<Endpoint>>>);

impl Nodes {
    /// Replaces the running processes.
    pub(super) fn set(&self, endpoints: Vec<Endpoint>) {
        *self.0.lock() = endpoints;
    }

    /// Returns a running process, chosen by any number.
    pub(super) fn pick(&self, number: usize) -> Option<Endpoint> {
        let endpoints = self.0.lock();
        let index = number.checked_rem(endpoints.len())?;
        endpoints.get(index).cloned()
    }
}

/// All outcomes of one chat.
#[derive(Debug)]
pub(super) struct Acknowledgements {
    pub(super) chat: Chat,
    /// The turn of each response that acknowledged the reply.
    pub(super) replied: Vec<TurnRef>,
    /// The turn of each response that accepted the message.
    pub(super) accepted: Vec<TurnRef>,
    /// The number of rejections by problem code.
    pub(super) rejections: BTreeMap<String, usize>,
    /// The number of failed requests by error.
    pub(super) failures: BTreeMap<RequestError, usize>,
    /// Responses that must never be sent.
    pub(super) invalid: Vec<String>,
    /// The number of requests.
    pub(super) attempts: usize,
}

impl Acknowledgements {
    /// No acknowledgements yet.
    pub(super) fn none(chat: Chat) -> Self {
        Self {
            chat,
            replied: Vec::new(),
            accepted: Vec::new(),
            rejections: BTreeMap::new(),
            failures: BTreeMap::new(),
            invalid: Vec::new(),
            attempts: 0,
        }
    }

    /// Sends the chat once.
    pub(super) async fn send(&mut self, endpoint: &Endpoint) -> Outcome {
        let outcome = self.chat.send(endpoint, TIMEOUT).await;
        self.record(outcome.clone());
        outcome
    }

    fn record(&mut self, outcome: Outcome) {
        self.attempts += 1;
        match outcome {
            Outcome::Replied(turn) => self.replied.push(turn),
            Outcome::Accepted(turn) => self.accepted.push(turn),
            Outcome::Rejected { code, .. } => *self.rejections.entry(code).or_default() += 1,
            Outcome::Failed(error) => *self.failures.entry(error).or_default() += 1,
            Outcome::Invalid(response) => self.invalid.push(response),
        }
    }

    /// Sends the chat; with a key, repeats it until it is replied to or the deadline has passed.
    pub(super) async fn send_until_replied(mut self, nodes: Nodes, deadline: Deadline) -> Self {
        for number in deadline.number.. {
            if let Some(endpoint) = nodes.pick(number) {
                let outcome = self.send(&endpoint).await;
                if self.is_final(outcome, &nodes, deadline).await {
                    break;
                }
            }
            if deadline.has_passed() {
                break;
            }
            sleep(PAUSE).await;
        }
        self
    }

    /// Returns true if the chat must not be repeated.
    async fn is_final(&mut self, outcome: Outcome, nodes: &Nodes, deadline: Deadline) -> bool {
        if self.chat.key.is_none() {
            return true;
        }
        match outcome {
            Outcome::Replied(_) | Outcome::Invalid(_) => true,
            Outcome::Accepted(turn) => self.wait_for(&turn, nodes, deadline).await,
            Outcome::Rejected { retryable, .. } => !retryable,
            Outcome::Failed(_) => false,
        }
    }

    /// Polls a turn until its end; returns whether it was completed.
    pub(super) async fn wait_for(
        &mut self,
        turn: &TurnRef,
        nodes: &Nodes,
        deadline: Deadline,
    ) -> bool {
        let path = format!("/api/turns/{}", turn.turn);
        while !deadline.has_passed() {
            sleep(PAUSE).await;
            let Some(endpoint) = nodes.pick(deadline.number) else {
                continue;
            };
            let Ok(response) = send(endpoint.http(Method::GET, &path), TIMEOUT).await else {
                continue;
            };
            let body = response.json();
            match body["status"].as_str() {
                Some("completed") if body["reply"]["content"] == self.chat.reply() => {
                    self.record(Outcome::Replied(turn.clone()));
                    return true;
                }
                Some("completed") => {
                    self.record(Outcome::Invalid(body.to_string()));
                    return true;
                }
                Some("failed" | "cancelled") => return false,
                _ => {}
            }
        }
        false
    }
}

/// The time at which a client gives up, and the number by which it picks its first node.
#[derive(Clone, Copy)]
pub(super) struct Deadline {
    pub(super) number: usize,
    pub(super) at: Instant,
}

impl Deadline {
    fn has_passed(self) -> bool {
        Instant::now() >= self.at
    }
}
