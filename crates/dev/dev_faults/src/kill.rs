//! F1: the process is killed under load.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use anyhow::{Context as _, Result};
use dev_load::{Endpoint, service::Service};
use tokio::{
    task::JoinSet,
    time::{Instant, sleep_until, timeout_at},
};

use super::{
    acknowledgements::{Acknowledgements, Deadline, Nodes},
    audit,
    chat::{Agent, Chat, Pacing, ResponseMode},
    chat_load::ChatLoad,
    environment::{Agents, Environment, Store},
    event_log::EventLog,
    random::Random,
    report::Report,
};

/// The longest time from the restart to a reply in each conversation.
const RECOVERY: Duration = Duration::from_secs(15);
/// The time that chats continue after the kill.
const AFTERWARDS: Duration = Duration::from_millis(500);
/// A service that is killed repeatedly.
struct KillRun {
    victim: Service,
    /// A second node, which takes over.
    second: Option<Service>,
    agents: Agents,
    log: EventLog,
    report: Report,
    /// The longest time from a restart to a reply in a conversation.
    recovery: Duration,
}

/// Kills a service `kills` times under load, and audits its state after each kill.
pub(super) async fn run(
    environment: &Environment,
    store: Store,
    with_second: bool,
    kills: usize,
) -> Result<Report> {
    let (name, takeover) = match (store, with_second) {
        (Store::Sqlite, _) => ("kill_sqlite", ""),
        (Store::Postgres, false) => ("kill_postgres", ""),
        (Store::Postgres, true) => ("kill_two", ", a second node takes over"),
    };
    let done = format!(
        "kill -9 under 200 chats/s, {kills} times, on {}{takeover}",
        store.name()
    );
    let settings = environment.settings(store, name)?;
    let victim = Service::start(settings.clone())?;
    let second = with_second.then(|| Service::start(settings)).transpose()?;
    let mut run = KillRun {
        agents: Agents::create(&victim.endpoint()?).await?,
        victim,
        second,
        log: EventLog::default(),
        report: Report::new("F1", done),
        recovery: Duration::ZERO,
    };
    run.report.expect_no(&["stuck"]);
    for round in 0..kills {
        let seed = environment.seed.wrapping_add(u64::try_from(round)?);
        let name = format!("{name}-{round}");
        run.round(&name, Random::new(seed)).await?;
        println!("{name}: {}", run.report.summary());
    }
    let KillRun {
        mut report,
        recovery,
        ..
    } = run;
    report.add_figure(
        "slowest conversation after a kill",
        recovery.as_secs_f64(),
        "s",
    );
    Ok(report)
}

impl KillRun {
    async fn round(&mut self, name: &str, mut random: Random) -> Result<()> {
        let nodes = Nodes::default();
        nodes.set(self.running_nodes()?);
        let load = random.milliseconds(1_000..2_000);
        let endpoint = self.victim.endpoint()?;
        let mut chats = ChatLoad::prepare(&endpoint, &self.agents, name.to_owned(), random).await?;
        let mut clients = JoinSet::new();
        chats.run(&nodes, load, &mut clients).await;
        let restarted_at = self.kill(&nodes)?;
        let known: BTreeSet<String> = self.log.conversations.keys().cloned().collect();
        let survivor = nodes.pick(0).context("no running node")?;
        self.log.read_on(&survivor).await?;
        let unfinished = self.log.unfinished();
        self.report.count("turns interrupted", unfinished.len());
        let conversations = self.log.conversations.iter();
        let conversations =
            conversations.filter(|(conversation, _)| !known.contains(*conversation));
        let conversations =
            conversations.map(|(conversation, agent)| (conversation.clone(), agent.clone()));
        let probes = probes(
            &self.agents,
            name,
            &conversations.collect(),
            &nodes,
            restarted_at + RECOVERY,
        );
        chats.run(&nodes, AFTERWARDS, &mut clients).await;
        let probe_results = probes.join_all().await;
        self.wait_for(&survivor, &unfinished, restarted_at + RECOVERY)
            .await?;
        let mut all = clients.join_all().await;
        for (conversation, probe) in probe_results {
            match probe {
                Some((probe, at)) if !probe.replied.is_empty() => {
                    self.recovery = self.recovery.max(at - restarted_at);
                    all.push(probe);
                }
                other => self
                    .report
                    .record_loss("stuck", || format!("{conversation}: {other:?}")),
            }
        }
        self.audit_round(&survivor, all).await?;
        if self.second.is_some() {
            self.victim.restart()?;
        }
        Ok(())
    }

    fn running_nodes(&self) -> Result<Vec<Endpoint>> {
        let services = std::iter::once(&self.victim).chain(&self.second);
        services.map(Service::endpoint).collect()
    }

    /// Kills the victim, and restarts it if there is no second node. Returns the time at which a
    /// node is running.
    fn kill(&mut self, nodes: &Nodes) -> Result<Instant> {
        self.report.count("kills", 1);
        if let Some(second) = &self.second {
            self.victim.kill();
            nodes.set(vec![second.endpoint()?]);
        } else {
            nodes.set(Vec::new());
            self.victim.restart()?;
            nodes.set(self.running_nodes()?);
        }
        Ok(Instant::now())
    }

    /// Waits until the turns that the kill interrupted are final.
    async fn wait_for(
        &mut self,
        endpoint: &Endpoint,
        unfinished: &[String],
        end: Instant,
    ) -> Result<()> {
        loop {
            self.log.read_on(endpoint).await?;
            let open = self.log.unfinished();
            let open: Vec<_> = unfinished
                .iter()
                .filter(|turn| open.contains(turn))
                .collect();
            if open.is_empty() {
                return Ok(());
            }
            if Instant::now() >= end {
                let turns = open
                    .iter()
                    .map(|turn| format!("{:?}", self.log.turns[*turn]));
                self.report.record_losses("unfinished", turns.collect());
                return Ok(());
            }
            sleep_until(end.min(Instant::now() + Duration::from_millis(500))).await;
        }
    }

    /// Repeats chats with a key, and audits all acknowledgements.
    async fn audit_round(
        &mut self,
        endpoint: &Endpoint,
        mut all: Vec<Acknowledgements>,
    ) -> Result<()> {
        for acks in &mut all {
            if acks.chat.key.is_some() && !acks.replied.is_empty() {
                acks.send(endpoint).await;
            }
        }
        audit::run_with(endpoint, &mut self.log, &all, &mut self.report).await
    }
}

/// Starts a chat in each conversation, repeated until it is replied to or the time is over.
fn probes(
    agents: &Agents,
    name: &str,
    conversations: &BTreeMap<String, String>,
    nodes: &Nodes,
    end: Instant,
) -> JoinSet<(String, Option<(Acknowledgements, Instant)>)> {
    let mut probes = JoinSet::new();
    for (number, (conversation, agent)) in conversations.iter().enumerate() {
        let agent = if *agent == agents.rules {
            Agent::Rules(agent.clone())
        } else {
            Agent::Scripted(agent.clone(), Pacing::default())
        };
        let tag = format!("{name}-probe-{number:04}");
        let acks = Acknowledgements::none(Chat {
            agent,
            conversation: Some(conversation.clone()),
            key: Some(format!("key-{tag}")),
            response_mode: ResponseMode::Full,
            tag,
        });
        let (conversation, nodes) = (conversation.clone(), nodes.clone());
        probes.spawn(async move {
            let deadline = Deadline { number, at: end };
            let result = timeout_at(end, acks.send_until_replied(nodes, deadline)).await;
            (conversation, result.ok().map(|acks| (acks, Instant::now())))
        });
    }
    probes
}
