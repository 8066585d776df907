//! F1: the process is killed while it works.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use anyhow::{Context as _, Result};
use tokio::{
    task::JoinSet,
    time::{Instant, sleep_until, timeout_at},
};

use super::{
    audit,
    chance::Chance,
    chat::{Chat, Form, Pace, Speaker},
    chats::Chats,
    findings::Findings,
    ground::{Cast, Ground, Store},
    log::Log,
    told::{Deadline, Nodes, Told},
};
use crate::rig::{load::Endpoint, service::Service};

/// From the restart to the answer in each conversation.
const RECOVERY: Duration = Duration::from_secs(15);
/// How long chats go on after the kill.
const AFTERWARDS: Duration = Duration::from_millis(500);
/// A service that is killed again and again.
struct Killing {
    victim: Service,
    /// Lives on, and takes over.
    second: Option<Service>,
    cast: Cast,
    log: Log,
    findings: Findings,
    /// The longest that a conversation took to answer after a restart.
    recovery: Duration,
}

/// Kills a service so many times under load, and looks at what is there afterwards.
pub(super) async fn run(
    ground: &Ground,
    store: Store,
    with_second: bool,
    kills: usize,
) -> Result<Findings> {
    let (name, helped) = match (store, with_second) {
        (Store::Sqlite, _) => ("kill_sqlite", ""),
        (Store::Postgres, false) => ("kill_postgres", ""),
        (Store::Postgres, true) => ("kill_two", ", a second node takes over"),
    };
    let done = format!(
        "kill -9 under 200 chats/s, {kills} times, on {}{helped}",
        store.name()
    );
    let settings = ground.settings(store, name)?;
    let victim = Service::start(settings.clone())?;
    let second = with_second.then(|| Service::start(settings)).transpose()?;
    let mut killing = Killing {
        cast: Cast::prepare(&victim.endpoint()?).await?,
        victim,
        second,
        log: Log::default(),
        findings: Findings::of("F1", done),
        recovery: Duration::ZERO,
    };
    killing.findings.expect_none(&["stuck"]);
    for round in 0..kills {
        let seed = ground.seed.wrapping_add(u64::try_from(round)?);
        let name = format!("{name}-{round}");
        killing.round(&name, Chance::new(seed)).await?;
        println!("{name}: {}", killing.findings.summary());
    }
    let Killing {
        mut findings,
        recovery,
        ..
    } = killing;
    findings.tell(
        "slowest conversation after a kill",
        recovery.as_secs_f64(),
        "s",
    );
    Ok(findings)
}

impl Killing {
    async fn round(&mut self, name: &str, mut chance: Chance) -> Result<()> {
        let nodes = Nodes::default();
        nodes.are(self.living()?);
        let load = chance.milliseconds(1_000..2_000);
        let endpoint = self.victim.endpoint()?;
        let mut chats = Chats::prepare(&endpoint, &self.cast, name.to_owned(), chance).await?;
        let mut asking = JoinSet::new();
        chats.go_on(&nodes, load, &mut asking).await;
        let begun = self.kill(&nodes)?;
        let known: BTreeSet<String> = self.log.conversations.keys().cloned().collect();
        let survivor = nodes.pick(0).context("nobody lives")?;
        self.log.read_on(&survivor).await?;
        let left = self.log.unfinished();
        self.findings.count("turns cut off", left.len());
        let rooms = self.log.conversations.iter();
        let rooms = rooms.filter(|(room, _)| !known.contains(*room));
        let rooms = rooms.map(|(room, agent)| (room.clone(), agent.clone()));
        let probes = probes(&self.cast, name, &rooms.collect(), &nodes, begun + RECOVERY);
        chats.go_on(&nodes, AFTERWARDS, &mut asking).await;
        let answers = probes.join_all().await;
        self.wait_for(&survivor, &left, begun + RECOVERY).await?;
        let mut all = asking.join_all().await;
        for (conversation, probe) in answers {
            match probe {
                Some((probe, at)) if !probe.replied.is_empty() => {
                    self.recovery = self.recovery.max(at - begun);
                    all.push(probe);
                }
                other => self
                    .findings
                    .lose("stuck", || format!("{conversation}: {other:?}")),
            }
        }
        self.look(&survivor, all).await?;
        if self.second.is_some() {
            self.victim.start_again()?;
        }
        Ok(())
    }

    fn living(&self) -> Result<Vec<Endpoint>> {
        let services = std::iter::once(&self.victim).chain(&self.second);
        services.map(Service::endpoint).collect()
    }

    /// Kills the victim, and starts it again if there is no other; answers when the service is
    /// there again.
    fn kill(&mut self, nodes: &Nodes) -> Result<Instant> {
        self.findings.count("kills", 1);
        if let Some(second) = &self.second {
            self.victim.kill();
            nodes.are(vec![second.endpoint()?]);
        } else {
            nodes.are(Vec::new());
            self.victim.start_again()?;
            nodes.are(self.living()?);
        }
        Ok(Instant::now())
    }

    /// Waits until turns that the killed process left behind have come to their end.
    async fn wait_for(&mut self, endpoint: &Endpoint, left: &[String], end: Instant) -> Result<()> {
        loop {
            self.log.read_on(endpoint).await?;
            let open = self.log.unfinished();
            let open: Vec<_> = left.iter().filter(|turn| open.contains(turn)).collect();
            if open.is_empty() {
                return Ok(());
            }
            if Instant::now() >= end {
                let told = open
                    .iter()
                    .map(|turn| format!("{:?}", self.log.turns[*turn]));
                self.findings.lose_all("unfinished", told.collect());
                return Ok(());
            }
            sleep_until(end.min(Instant::now() + Duration::from_millis(500))).await;
        }
    }

    /// Repeats what has a key, and holds everything against what clients were told.
    async fn look(&mut self, endpoint: &Endpoint, mut all: Vec<Told>) -> Result<()> {
        for told in &mut all {
            if told.chat.key.is_some() && !told.replied.is_empty() {
                told.ask(endpoint).await;
            }
        }
        audit::go_on(endpoint, &mut self.log, &all, &mut self.findings).await
    }
}

/// Says something in each conversation, until it is answered or the time is over.
fn probes(
    cast: &Cast,
    name: &str,
    rooms: &BTreeMap<String, String>,
    nodes: &Nodes,
    end: Instant,
) -> JoinSet<(String, Option<(Told, Instant)>)> {
    let mut probes = JoinSet::new();
    for (number, (room, agent)) in rooms.iter().enumerate() {
        let speaker = if *agent == cast.rules {
            Speaker::Rules(agent.clone())
        } else {
            Speaker::Scripted(agent.clone(), Pace::default())
        };
        let tag = format!("{name}-probe-{number:04}");
        let told = Told::nothing(Chat {
            speaker,
            conversation: Some(room.clone()),
            key: Some(format!("key-{tag}")),
            form: Form::Whole,
            tag,
        });
        let (room, nodes) = (room.clone(), nodes.clone());
        probes.spawn(async move {
            let deadline = Deadline { number, at: end };
            let asked = timeout_at(end, told.ask_until_replied(nodes, deadline)).await;
            (room, asked.ok().map(|told| (told, Instant::now())))
        });
    }
    probes
}
