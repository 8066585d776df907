//! Sends what an attack sends, whatever is answered.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use tokio::{
    task::JoinSet,
    time::{sleep, sleep_until, timeout},
};

use crate::rig::{
    http::{Broken, Incoming},
    load::Endpoint,
};

/// The longest that a client waits for one answer.
const PATIENCE: Duration = Duration::from_secs(30);
/// The pause of a slow reader after each part.
const SLOW: Duration = Duration::from_millis(200);

/// Requests that several clients send in turn.
#[derive(Clone)]
pub(super) struct Plan {
    pub(super) requests: Vec<Vec<u8>>,
    pub(super) clients: usize,
    /// From one request of a client to its next.
    pub(super) pause: Duration,
    pub(super) reading: Reading,
}

/// How answers are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reading {
    AtOnce,
    Slow,
}

impl Plan {
    /// Twice as many requests as a principal may send in the long run.
    pub(super) fn paced(requests: Vec<Vec<u8>>) -> Self {
        Self {
            requests,
            clients: 10,
            pause: Duration::from_millis(500),
            reading: Reading::AtOnce,
        }
    }
}

/// The answers to a flood.
#[derive(Default)]
pub(super) struct Answers {
    pub(super) admitted: AtomicUsize,
    pub(super) rate_limited: AtomicUsize,
    pub(super) refused: AtomicUsize,
    pub(super) broken: AtomicUsize,
}

impl Answers {
    /// The number of requests that passed the rate limits.
    pub(super) fn reached_service(&self) -> usize {
        self.admitted.load(Ordering::Relaxed) + self.refused.load(Ordering::Relaxed)
    }

    fn note(&self, status: Result<u16, Broken>) {
        let counter = match status {
            Ok(200..300) => &self.admitted,
            Ok(429) => &self.rate_limited,
            Ok(_) => &self.refused,
            Err(_) => &self.broken,
        };
        counter.fetch_add(1, Ordering::Relaxed);
    }
}

/// Starts all clients; they go on until the set is dropped.
pub(super) fn start(endpoint: &Endpoint, plans: Vec<Plan>) -> (JoinSet<()>, Arc<Answers>) {
    let (mut clients, answers) = (JoinSet::new(), Arc::new(Answers::default()));
    for plan in plans {
        for number in 0..plan.clients {
            let (endpoint, plan) = (endpoint.clone(), plan.clone());
            clients.spawn(send(endpoint, plan, number, Arc::clone(&answers)));
        }
    }
    (clients, answers)
}

async fn send(endpoint: Endpoint, plan: Plan, number: usize, answers: Arc<Answers>) {
    let requests = plan.requests.iter().cycle().skip(number);
    for request in requests.step_by(plan.clients) {
        let next = tokio::time::Instant::now() + plan.pause;
        let answered = timeout(
            PATIENCE,
            exchange(&endpoint, request, plan.reading, &answers),
        );
        if answered.await.is_err() {
            answers.note(Err(Broken::Late));
        }
        sleep_until(next).await;
    }
}

async fn exchange(endpoint: &Endpoint, request: &[u8], reading: Reading, answers: &Answers) {
    let opened = Incoming::open(endpoint.address, request).await;
    answers.note(
        opened
            .as_ref()
            .map(|incoming| incoming.status)
            .map_err(|broken| *broken),
    );
    let Ok(mut incoming) = opened else {
        return;
    };
    while let Ok(Some(_)) = incoming.part().await {
        if reading == Reading::Slow {
            sleep(SLOW).await;
        }
    }
}
