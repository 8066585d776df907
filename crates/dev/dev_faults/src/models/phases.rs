//! The upstream fails, the circuit breaker opens, the upstream recovers.

use std::time::Duration;

use anyhow::{Context as _, Result};
use dev_load::{service::Service, upstream::Upstream};
use tokio::{
    task::JoinSet,
    time::{Instant, sleep},
};

use super::{
    case::Case,
    client::{CaseAgents, ChatResponse, FALLBACK_REPLY},
};
use crate::{
    environment::{Environment, Store},
    report::Report,
};

/// Enough concurrent chats to open the circuit breaker.
const CONCURRENT_CHATS: usize = 24;
/// The tolerance for a busy machine, beyond the agent's time limit.
const SLACK: Duration = Duration::from_secs(1);
/// The longest time of a response while the circuit breaker is open.
const FAST_FAILURE: Duration = Duration::from_millis(500);
/// The longest time until a recovered engine is used again.
const RECOVERY: Duration = Duration::from_secs(15);
/// The longest time until the connections to the upstream are closed.
const RELEASE: Duration = Duration::from_secs(2);

/// An engine whose upstream fails in its own way.
struct FaultyEngine {
    case: Case,
    agents: CaseAgents,
    report: Report,
}

/// Runs all cases at once, each with an engine of its own.
pub(crate) async fn run(environment: &Environment, store: Store) -> Result<Vec<Report>> {
    let upstream = Upstream::start()?;
    let refusing = Upstream::reserve()?;
    let cases = Case::all(&upstream, refusing.local_addr()?);
    let mut settings = environment.settings(store, "models")?;
    for case in &cases {
        settings.variables.extend(case.variables());
    }
    let service = Service::start(settings)?;
    let endpoint = service.endpoint()?;
    let mut failing = JoinSet::new();
    for case in cases {
        let engine = FaultyEngine {
            agents: CaseAgents::create(&endpoint, &case).await?,
            report: Report::new(
                "F4",
                format!(
                    "an upstream {}: {} {}, {}",
                    case.description,
                    case.status,
                    case.code,
                    store.name()
                ),
            ),
            case,
        };
        failing.spawn(engine.run_failure());
    }
    let mut all = collect(failing).await?;
    let left = requests_left(&upstream).await;
    upstream.repair();
    let _recovered = Upstream::start_on(refusing)?;
    let mut recovering = JoinSet::new();
    for engine in all {
        recovering.spawn(engine.run_recovery());
    }
    all = collect(recovering).await?;
    let mut report: Vec<_> = all.into_iter().map(|engine| engine.report).collect();
    report.push(connections(left, &upstream));
    Ok(report)
}

async fn collect(mut tasks: JoinSet<Result<FaultyEngine>>) -> Result<Vec<FaultyEngine>> {
    let mut all = Vec::new();
    while let Some(ended) = tasks.join_next().await {
        all.push(ended.context("a task panicked")??);
    }
    all.sort_by_key(|engine| engine.case.name);
    Ok(all)
}

/// Waits until no request is in progress; returns the number of those that remain.
async fn requests_left(upstream: &Upstream) -> usize {
    let started = Instant::now();
    while upstream.requests_in_progress() > 0 && started.elapsed() < RELEASE {
        sleep(Duration::from_millis(20)).await;
    }
    upstream.requests_in_progress()
}

fn connections(left: usize, upstream: &Upstream) -> Report {
    let mut report = Report::new("F4", "requests and connections at the upstream");
    report.expect_no(&["not released"]);
    report.count("requests", upstream.requests());
    report.count("idle connections", upstream.open_connections());
    for _ in 0..left {
        report.record_loss("not released", || "a request after its turn".to_owned());
    }
    report
}

impl FaultyEngine {
    async fn run_failure(mut self) -> Result<Self> {
        self.report.expect_no(&[
            "unexpected response",
            "turn not final",
            "no fallback",
            "breaker not open",
        ]);
        let (agents, case) = (self.agents.clone(), self.case.clone());
        let (full, turn, stream, with_fallback) = tokio::join!(
            agents.chat(&agents.alone),
            agents.chat_async(&agents.alone),
            agents.chat_stream(&agents.alone),
            agents.chat(&agents.with_fallback),
        );
        let (full, turn, stream, with_fallback) = (full?, turn?, stream?, with_fallback?);
        let limit = Duration::from_millis(case.timeout.into()) + SLACK;
        self.check_latency("failed after", full.latency, limit);
        self.expect_fault(&full);
        self.expect_fault(&stream);
        if stream.has_words != case.sends_words {
            self.report
                .record_loss("unexpected response", || format!("words: {stream:?}"));
        }
        if turn["status"] != "failed" || turn["error"]["code"] != case.code {
            self.report
                .record_loss("turn not final", || turn.to_string());
        }
        if case.sends_words {
            self.expect_fault(&with_fallback);
        } else {
            self.expect_fallback(&with_fallback);
            self.check_latency("fallback after", with_fallback.latency, limit);
        }
        self.open_breaker().await?;
        Ok(self)
    }

    /// Chats until the circuit breaker opens, and checks the responses while it is open.
    async fn open_breaker(&mut self) -> Result<()> {
        let mut clients = JoinSet::new();
        for _ in 0..CONCURRENT_CHATS {
            let agents = self.agents.clone();
            clients.spawn(async move { agents.chat(&agents.alone).await });
        }
        while let Some(response) = clients.join_next().await {
            let response = response.context("a task panicked")??;
            // The circuit breaker may have opened before the last of them.
            if response.body["code"] != "engine_unavailable" {
                self.expect_fault(&response);
            }
        }
        if !self.agents.breaker_is_open(self.case.name).await? {
            let name = self.case.name;
            self.report
                .record_loss("breaker not open", || format!("{name}: breaker closed"));
        }
        let alone = self.agents.chat(&self.agents.alone).await?;
        if alone.body["code"] != "engine_unavailable" {
            self.report
                .record_loss("breaker not open", || format!("{alone:?}"));
        }
        self.check_latency(
            "rejected with an open breaker after",
            alone.latency,
            FAST_FAILURE,
        );
        let with_fallback = self.agents.chat(&self.agents.with_fallback).await?;
        self.expect_fallback(&with_fallback);
        self.check_latency(
            "fallback with an open breaker after",
            with_fallback.latency,
            FAST_FAILURE,
        );
        Ok(())
    }

    /// Chats until the engine replies again.
    async fn run_recovery(mut self) -> Result<Self> {
        self.report.expect_no(&["not recovered"]);
        let repaired = Instant::now();
        loop {
            let response = self.agents.chat(&self.agents.alone).await?;
            let replies = response.status == 200 && response.body["engine"] == self.case.name;
            if replies && !self.agents.breaker_is_open(self.case.name).await? {
                break;
            }
            if repaired.elapsed() > RECOVERY {
                self.report
                    .record_loss("not recovered", || format!("{response:?}"));
                break;
            }
            sleep(Duration::from_millis(200)).await;
        }
        self.check_latency("used again after", repaired.elapsed(), RECOVERY);
        Ok(self)
    }

    fn expect_fault(&mut self, response: &ChatResponse) {
        self.report.count("failures", 1);
        if response.status != self.case.status || response.body["code"] != self.case.code {
            self.report
                .record_loss("unexpected response", || format!("{response:?}"));
        }
    }

    fn expect_fallback(&mut self, response: &ChatResponse) {
        self.report.count("fallbacks", 1);
        let body = &response.body;
        let is_fallback = body["message"] == FALLBACK_REPLY && body["engine"] == "rules";
        if !is_fallback || body["degraded"] != true {
            self.report
                .record_loss("no fallback", || format!("{response:?}"));
        }
    }

    fn check_latency(&mut self, name: &'static str, took: Duration, most: Duration) {
        let (took, most) = (took.as_secs_f64(), most.as_secs_f64());
        self.report.add_bounded(name, took, "s", most);
    }
}
