//! Breaks, is left alone, and is found mended.

use std::time::Duration;

use anyhow::{Context as _, Result};
use tokio::{
    task::JoinSet,
    time::{Instant, sleep},
};

use super::{
    asking::{Agents, Asked, STAND_IN},
    case::Case,
};
use crate::{
    faults::{
        findings::Findings,
        ground::{Ground, Store},
    },
    rig::service::Service,
    upstream::Upstream,
};

/// Enough questions at once to have an engine left alone.
const STORM: usize = 24;
/// Beyond the agent's time, for a machine with other work.
const SLACK: Duration = Duration::from_secs(1);
/// Who is left alone is passed over within this time.
const AT_ONCE: Duration = Duration::from_millis(500);
/// Within this time an engine that works again is asked again.
const PROBED: Duration = Duration::from_secs(15);
/// Within this time an upstream is let go.
const LET_GO: Duration = Duration::from_secs(2);

/// An engine of which every upstream breaks in its own way.
struct Broken {
    case: Case,
    agents: Agents,
    findings: Findings,
}

/// Breaks upstreams in all ways at once, each behind an engine of its own.
pub(in crate::faults) async fn run(ground: &Ground, store: Store) -> Result<Vec<Findings>> {
    let upstream = Upstream::start()?;
    let refusing = Upstream::reserve()?;
    let cases = Case::all(&upstream, refusing.local_addr()?);
    let mut settings = ground.settings(store, "models")?;
    for case in &cases {
        settings.variables.extend(case.variables());
    }
    let service = Service::start(settings)?;
    let endpoint = service.endpoint()?;
    let mut breaking = JoinSet::new();
    for case in cases {
        let broken = Broken {
            agents: Agents::make(&endpoint, &case).await?,
            findings: Findings::of(
                "F4",
                format!(
                    "an upstream {}: {} {}, {}",
                    case.done,
                    case.status,
                    case.code,
                    store.name()
                ),
            ),
            case,
        };
        breaking.spawn(broken.while_broken());
    }
    let mut all = collect(breaking).await?;
    let left = until_let_go(&upstream).await;
    upstream.mend();
    let _mended = Upstream::start_on(refusing)?;
    let mut mending = JoinSet::new();
    for broken in all {
        mending.spawn(broken.once_mended());
    }
    all = collect(mending).await?;
    let mut findings: Vec<_> = all.into_iter().map(|broken| broken.findings).collect();
    findings.push(connections(left, &upstream));
    Ok(findings)
}

async fn collect(mut tasks: JoinSet<Result<Broken>>) -> Result<Vec<Broken>> {
    let mut all = Vec::new();
    while let Some(ended) = tasks.join_next().await {
        all.push(ended.context("a task panicked")??);
    }
    all.sort_by_key(|broken| broken.case.name);
    Ok(all)
}

/// How many answers are waited for although nobody asks for them any more.
async fn until_let_go(upstream: &Upstream) -> usize {
    let began = Instant::now();
    while upstream.busy() > 0 && began.elapsed() < LET_GO {
        sleep(Duration::from_millis(20)).await;
    }
    upstream.busy()
}

fn connections(left: usize, upstream: &Upstream) -> Findings {
    let mut findings = Findings::of("F4", "what is left of all this at the upstream");
    findings.expect_none(&["not let go"]);
    findings.count("requests", upstream.asked());
    findings.count("idle connections", upstream.open());
    for _ in 0..left {
        findings.lose("not let go", || "a connection after its turn".to_owned());
    }
    findings
}

impl Broken {
    async fn while_broken(mut self) -> Result<Self> {
        self.findings.expect_none(&[
            "another answer",
            "turn not final",
            "no stand-in",
            "asked all the same",
        ]);
        let (agents, case) = (self.agents.clone(), self.case.clone());
        let (whole, turn, stream, backed) = tokio::join!(
            agents.ask(&agents.alone),
            agents.ask_for_turn(&agents.alone),
            agents.ask_for_stream(&agents.alone),
            agents.ask(&agents.backed),
        );
        let (whole, turn, stream, backed) = (whole?, turn?, stream?, backed?);
        let time = Duration::from_millis(case.timeout.into()) + SLACK;
        self.bound("told after", whole.took, time);
        self.expect_fault(&whole);
        self.expect_fault(&stream);
        if stream.has_spoken != case.speaks {
            self.findings
                .lose("another answer", || format!("words: {stream:?}"));
        }
        if turn["status"] != "failed" || turn["error"]["code"] != case.code {
            self.findings.lose("turn not final", || turn.to_string());
        }
        if case.speaks {
            self.expect_fault(&backed);
        } else {
            self.expect_stand_in(&backed);
            self.bound("stood in for after", backed.took, time);
        }
        self.storm().await?;
        Ok(self)
    }

    /// Asks until the engine is left alone, and then sees what that is like.
    async fn storm(&mut self) -> Result<()> {
        let mut asking = JoinSet::new();
        for _ in 0..STORM {
            let agents = self.agents.clone();
            asking.spawn(async move { agents.ask(&agents.alone).await });
        }
        while let Some(asked) = asking.join_next().await {
            let asked = asked.context("a task panicked")??;
            // The last of them may have come too late to be asked at all.
            if asked.body["code"] != "engine_unavailable" {
                self.expect_fault(&asked);
            }
        }
        if !self.agents.breaker_is_open(self.case.name).await? {
            let name = self.case.name;
            self.findings
                .lose("asked all the same", || format!("{name}: no breaker"));
        }
        let alone = self.agents.ask(&self.agents.alone).await?;
        if alone.body["code"] != "engine_unavailable" {
            self.findings
                .lose("asked all the same", || format!("{alone:?}"));
        }
        self.bound("told at once that it is down", alone.took, AT_ONCE);
        let backed = self.agents.ask(&self.agents.backed).await?;
        self.expect_stand_in(&backed);
        self.bound("stood in for at once", backed.took, AT_ONCE);
        Ok(())
    }

    /// Asks until the engine answers again.
    async fn once_mended(mut self) -> Result<Self> {
        self.findings.expect_none(&["still down"]);
        let mended = Instant::now();
        loop {
            let asked = self.agents.ask(&self.agents.alone).await?;
            let answers = asked.status == 200 && asked.body["engine"] == self.case.name;
            if answers && !self.agents.breaker_is_open(self.case.name).await? {
                break;
            }
            if mended.elapsed() > PROBED {
                self.findings.lose("still down", || format!("{asked:?}"));
                break;
            }
            sleep(Duration::from_millis(200)).await;
        }
        self.bound("asked again after", mended.elapsed(), PROBED);
        Ok(self)
    }

    fn expect_fault(&mut self, asked: &Asked) {
        self.findings.count("failures", 1);
        if asked.status != self.case.status || asked.body["code"] != self.case.code {
            self.findings
                .lose("another answer", || format!("{asked:?}"));
        }
    }

    fn expect_stand_in(&mut self, asked: &Asked) {
        self.findings.count("stand-ins", 1);
        let body = &asked.body;
        let is_one = body["message"] == STAND_IN && body["engine"] == "rules";
        if !is_one || body["degraded"] != true {
            self.findings.lose("no stand-in", || format!("{asked:?}"));
        }
    }

    fn bound(&mut self, what: &'static str, took: Duration, most: Duration) {
        let (took, most) = (took.as_secs_f64(), most.as_secs_f64());
        self.findings.bound(what, took, "s", most);
    }
}
