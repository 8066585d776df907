//! F2: Postgres is stopped or frozen, and comes back.

use std::{thread, time::Duration};

use anyhow::Result;
use tokio::{task::JoinSet, time::Instant};

use super::{
    acknowledgements::{Acknowledgements, Deadline, Nodes},
    audit,
    chat::{Agent, Chat, Pacing, ResponseMode},
    chat_load::{ChatLoad, RETRY_TIME},
    environment::{Agents, Environment, Store},
    memory::MemoryWatch,
    probes::{self, Outage},
    random::Random,
    report::Report,
};

/// The length of the outage.
const OUTAGE: Duration = Duration::from_secs(10);
/// The time of chats before and after the outage.
const AROUND: Duration = Duration::from_secs(8);
/// The interval of chats.
const CHAT_INTERVAL: Duration = Duration::from_millis(20);
/// The largest allowed ratio of memory meanwhile and afterwards.
const MEMORY_GROWTH: f64 = 1.2;
/// Concurrent clients before the outage: as many as wait during it (60 arrive in a second, wait for
/// 5 s, and half of them repeat), so that memory is comparable.
const CLIENTS_BEFORE: usize = 450;
/// Turns in progress when the outage begins, by their length in seconds: some end before the outage
/// does, and some after.
const LONG_TURNS: [usize; 6] = [3, 5, 7, 9, 12, 15];

/// The kind of outage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OutageKind {
    /// The server is stopped and restarted.
    Stopped,
    /// All processes of the server are suspended (`SIGSTOP`).
    Frozen,
}

/// Causes an outage under load.
pub(super) async fn run(environment: &Environment, kind: OutageKind) -> Result<Report> {
    let (name, action) = match kind {
        OutageKind::Stopped => ("store_stopped", "stopped for 10 s and started again"),
        OutageKind::Frozen => ("store_frozen", "frozen for 10 s (SIGSTOP)"),
    };
    let mut report = Report::new("F2", format!("Postgres {action}, under 50 chats/s"));
    report.expect_no(&["interrupted", "other errors", "not rejected"]);
    let (service, agents) = environment.start(Store::Postgres, name).await?;
    let endpoint = service.endpoint()?;
    let nodes = Nodes::default();
    nodes.set(vec![endpoint.clone()]);
    let memory = MemoryWatch::over(service.id()?);
    let random = Random::new(environment.seed);
    let mut chats = ChatLoad::prepare(&endpoint, &agents, name.to_owned(), random).await?;
    chats.interval = CHAT_INTERVAL;
    let mut clients = JoinSet::new();
    let clients_before = (0..CLIENTS_BEFORE)
        .map(|number| slow_chat(&agents, &format!("{name}-before-{number:04}"), 5));
    for chat in clients_before {
        clients.spawn(send_persistently(Acknowledgements::none(chat), &nodes));
    }
    chats.run(&nodes, AROUND, &mut clients).await;
    let before = memory.take_peak();

    let long = long_turns(&agents, name, &nodes);
    let mut load = JoinSet::new();
    load.spawn(async move {
        chats.run(&nodes, OUTAGE + AROUND, &mut clients).await;
        clients.join_all().await
    });
    let probe_task = probes::start(&endpoint, &agents.rules, name, OUTAGE + AROUND);
    // This thread blocks; the load runs on other threads.
    thread::sleep(Duration::from_secs(1));
    let outage = cause_outage(environment, kind)?;
    let meanwhile = memory.take_peak();
    let probes: Vec<_> = probe_task.join_all().await.into_iter().flatten().collect();
    outage.judge(&probes, &mut report);
    let mut acks: Vec<Acknowledgements> = load.join_all().await.into_iter().flatten().collect();
    let afterwards = memory.take_peak();
    report.add_figure("resident before", before, "MiB");
    report.add_bounded(
        "resident meanwhile",
        meanwhile,
        "MiB",
        before * MEMORY_GROWTH,
    );
    report.add_bounded(
        "resident afterwards",
        afterwards,
        "MiB",
        before * MEMORY_GROWTH,
    );

    let long = long.join_all().await;
    for acks in long.iter().filter(|acks| acks.attempts != 2) {
        report.record_loss("interrupted", || format!("{acks:?}"));
    }
    acks.extend(long);
    audit::run(&endpoint, &acks, &mut report).await?;
    Ok(report)
}

/// Starts long turns, whose clients then poll for the end.
fn long_turns(agents: &Agents, name: &str, nodes: &Nodes) -> JoinSet<Acknowledgements> {
    let mut long = JoinSet::new();
    for seconds in LONG_TURNS {
        let chat = slow_chat(agents, &format!("{name}-long-{seconds:02}"), seconds);
        let response_mode = ResponseMode::Async;
        long.spawn(send_persistently(
            Acknowledgements::none(Chat {
                response_mode,
                ..chat
            }),
            nodes,
        ));
    }
    long
}

/// A chat that takes `seconds` seconds, at least three.
fn slow_chat(agents: &Agents, tag: &str, seconds: usize) -> Chat {
    let pacing = Pacing {
        first: Duration::from_secs(1),
        between: Duration::from_secs(1),
        more: seconds - 3,
    };
    Chat {
        agent: Agent::Scripted(agents.scripted.clone(), pacing),
        conversation: None,
        key: Some(format!("key-{tag}")),
        response_mode: ResponseMode::Full,
        tag: tag.to_owned(),
    }
}

fn send_persistently(
    acks: Acknowledgements,
    nodes: &Nodes,
) -> impl Future<Output = Acknowledgements> + use<> {
    let deadline = Deadline {
        number: 0,
        at: Instant::now() + RETRY_TIME,
    };
    acks.send_until_replied(nodes.clone(), deadline)
}

/// Causes an outage of ten seconds.
fn cause_outage(environment: &Environment, kind: OutageKind) -> Result<Outage> {
    let server = environment.server()?;
    let (started, ending) = match kind {
        OutageKind::Stopped => {
            server.stop()?;
            let started = Instant::now();
            thread::sleep(OUTAGE);
            let ending = Instant::now();
            server.restart()?;
            (started, ending)
        }
        OutageKind::Frozen => {
            let frozen = server.freeze()?;
            let started = Instant::now();
            thread::sleep(OUTAGE);
            let ending = Instant::now();
            drop(frozen);
            (started, ending)
        }
    };
    Ok(Outage {
        started,
        ending,
        ended: Instant::now(),
        is_total: true,
    })
}
