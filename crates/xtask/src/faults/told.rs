//! What a client was told about its chat, however often it had to ask.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tokio::time::{Instant, sleep};

use super::chat::{Answer, Chat, PATIENCE, Place};
use crate::rig::{http::ask, load::Endpoint};

/// The pause before a request is repeated.
const PAUSE: Duration = Duration::from_millis(200);

/// The processes of the service that live. Shared by all clients.
#[derive(Clone, Default)]
pub(super) struct Nodes(Arc<Mutex<Vec<Endpoint>>>);

impl Nodes {
    /// These live now.
    pub(super) fn are(&self, endpoints: Vec<Endpoint>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = endpoints;
    }

    /// One of those that live, by a number that may be any.
    pub(super) fn pick(&self, number: usize) -> Option<Endpoint> {
        let endpoints = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let place = number.checked_rem(endpoints.len())?;
        endpoints.get(place).cloned()
    }
}

/// What a client was told about its chat.
#[derive(Debug)]
pub(super) struct Told {
    pub(super) chat: Chat,
    /// Each time when the reply was acknowledged.
    pub(super) replied: Vec<Place>,
    /// Each time when a turn was acknowledged.
    pub(super) accepted: Vec<Place>,
    /// Refusals, by code, and failures on the way.
    pub(super) refusals: BTreeMap<String, usize>,
    /// What should never come.
    pub(super) wrong: Vec<String>,
    /// How often it asked.
    pub(super) attempts: usize,
}

impl Told {
    /// Nothing as yet.
    pub(super) fn nothing(chat: Chat) -> Self {
        Self {
            chat,
            replied: Vec::new(),
            accepted: Vec::new(),
            refusals: BTreeMap::new(),
            wrong: Vec::new(),
            attempts: 0,
        }
    }

    /// Asks once, and answers what came.
    pub(super) async fn ask(&mut self, endpoint: &Endpoint) -> Answer {
        let answer = self.chat.ask(endpoint, PATIENCE).await;
        self.note(answer.clone());
        answer
    }

    fn note(&mut self, answer: Answer) {
        self.attempts += 1;
        match answer {
            Answer::Replied(place) => self.replied.push(place),
            Answer::Accepted(place) => self.accepted.push(place),
            Answer::Refused { code, .. } => *self.refusals.entry(code).or_default() += 1,
            Answer::Broken(how) => *self.refusals.entry(how.to_string()).or_default() += 1,
            Answer::Wrong(what) => self.wrong.push(what),
        }
    }

    /// Asks once; with a key, asks again until the reply is there or the time is over.
    pub(super) async fn ask_until_replied(mut self, nodes: Nodes, until: Deadline) -> Self {
        for number in until.number.. {
            if let Some(endpoint) = nodes.pick(number) {
                let answer = self.ask(&endpoint).await;
                if self.is_done(answer, &nodes, until).await {
                    break;
                }
            }
            if until.has_passed() {
                break;
            }
            sleep(PAUSE).await;
        }
        self
    }

    /// Whether there is nothing more to ask for.
    async fn is_done(&mut self, answer: Answer, nodes: &Nodes, until: Deadline) -> bool {
        if self.chat.key.is_none() {
            return true;
        }
        match answer {
            Answer::Replied(_) | Answer::Wrong(_) => true,
            Answer::Accepted(place) => self.wait_for(&place, nodes, until).await,
            Answer::Refused { retryable, .. } => !retryable,
            Answer::Broken(_) => false,
        }
    }

    /// Waits for the end of a turn; whether it is the reply.
    pub(super) async fn wait_for(&mut self, place: &Place, nodes: &Nodes, until: Deadline) -> bool {
        while !until.has_passed() {
            sleep(PAUSE).await;
            let Some(endpoint) = nodes.pick(until.number) else {
                continue;
            };
            let request = endpoint.request("GET", &format!("/api/turns/{}", place.turn), None);
            let Ok(response) = ask(endpoint.address, &request, PATIENCE).await else {
                continue;
            };
            let turn = response.json();
            match turn["status"].as_str() {
                Some("completed") if turn["reply"]["content"] == self.chat.reply() => {
                    self.note(Answer::Replied(place.clone()));
                    return true;
                }
                Some("completed") => {
                    self.note(Answer::Wrong(turn.to_string()));
                    return true;
                }
                Some("failed" | "cancelled") => return false,
                _ => {}
            }
        }
        false
    }
}

/// When a client gives up, and the number by which it chooses whom to ask first.
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
