//! F5: clients that violate the protocol or do not read, and their effect on other clients.

use std::{thread, time::Duration};

use anyhow::{Context as _, Result, bail};
use dev_load::{
    Endpoint,
    http::{ApiClient, Method},
    process_stats,
    service::Service,
    socket::{self, Frame, Socket},
};
use serde_json::json;
use tokio::{
    task::JoinSet,
    time::{Instant, sleep, timeout},
};

use super::{
    bystanders::{self, WINDOW, p99},
    environment::{Agents, Environment, Store},
    memory::MemoryWatch,
    misbehaviour::Misbehaviour,
    report::Report,
};

/// The number of windows in which bystanders are measured before the misbehaviour.
const WINDOWS_BEFORE: usize = 3;
/// The largest allowed ratio of the bystanders' latencies.
const SLOWER: f64 = 2.0;
/// Latencies below this many milliseconds are noise of the machine.
const NOISE: f64 = 3.0;
/// The largest allowed ratio of memory, beside the memory that clients may cost.
const MEMORY_GROWTH: f64 = 1.2;
/// Descriptors that other parts of the service may open meanwhile.
const OTHER_DESCRIPTORS: usize = 16;
/// Chats in conversations of their own, their events, and the characters of their messages:
/// together more than the system buffers for a client that does not read.
const CHATS: usize = 334;
const EVENTS: usize = CHATS * 3;
const CHARACTERS: usize = 16_000;
/// Sockets that read, beside those that do not.
const READERS: usize = 5;
/// The longest that a reader may take for all events.
const TIMEOUT: Duration = Duration::from_mins(1);
/// The user whose chats are counted.
const USER: &str = "talker";

/// The service and its agents.
struct Fixture {
    store: Store,
    service: Service,
    endpoint: Endpoint,
    agents: Agents,
}

/// Runs each misbehaviour beside well-behaved clients.
pub(super) async fn run(environment: &Environment, store: Store) -> Result<Vec<Report>> {
    let (service, agents) = environment.start(store, "misbehaving_clients").await?;
    let fixture = Fixture {
        store,
        endpoint: service.endpoint()?,
        service,
        agents,
    };
    // The first windows fill caches.
    fixture.measure_bystanders("warm").await?;
    fixture.measure_bystanders("warm").await?;
    let mut all = Vec::new();
    for misbehaviour in Misbehaviour::ALL {
        let measured = fixture.measure(misbehaviour).await;
        all.push(measured.context(misbehaviour.name())?);
    }
    Ok(all)
}

impl Fixture {
    async fn measure_bystanders(&self, name: &str) -> Result<Vec<Duration>> {
        bystanders::measure(&self.endpoint, &self.agents, name).await
    }

    async fn measure(&self, misbehaviour: Misbehaviour) -> Result<Report> {
        let done = format!("{}, {}", misbehaviour.name(), self.store.name());
        let mut report = Report::new("F5", done);
        report.expect_no(&["not dropped"]);
        let process = self.service.id()?;
        let needs_events = misbehaviour == Misbehaviour::UnreadSocket;
        if needs_events {
            // The caches that long events fill are no cost of the clients that do not read them.
            self.start_events().await?.finish().await?;
        }
        let memory = MemoryWatch::over(process);
        let mut before = Vec::new();
        for _ in 0..WINDOWS_BEFORE {
            before.extend(self.measure_bystanders("before").await?);
        }
        let (memory_before, open) = (
            memory.take_peak(),
            process_stats::open_descriptors(process)?,
        );
        let clients = misbehaviour.start(&self.endpoint).await?;
        let started = Instant::now();
        let (events, readers) = if needs_events {
            (Some(self.start_events().await?), READERS)
        } else {
            (None, 0)
        };
        let (mut during, mut dropped) = (self.measure_bystanders("during").await?, None);
        while dropped.is_none() && started.elapsed() < misbehaviour.deadline() + WINDOW * 2 {
            let left = process_stats::open_descriptors(process)?.saturating_sub(open + readers);
            if left <= OTHER_DESCRIPTORS.min(misbehaviour.clients() as usize / 4) {
                dropped = Some(started.elapsed());
            } else {
                during.extend(self.measure_bystanders("during").await?);
            }
        }
        let memory_during = memory.take_peak();
        drop(clients);
        if let Some(events) = events {
            report.count("events read by others", events.finish().await?);
        }
        judge(misbehaviour, &mut report, dropped, (before, during))?;
        let clients = f64::from(misbehaviour.clients() * misbehaviour.memory()) / 1_024.0;
        let most = memory_before * MEMORY_GROWTH + clients;
        report.add_figure("resident before", memory_before, "MiB");
        report.add_bounded("resident meanwhile", memory_during, "MiB", most);
        // Connections that are still closing must not count for the next misbehaviour.
        thread::sleep(Duration::from_secs(1));
        Ok(report)
    }

    /// Opens sockets that read all events as they arrive, and starts to generate events.
    async fn start_events(&self) -> Result<EventLoad> {
        let (mut readers, mut generator) = (JoinSet::new(), JoinSet::new());
        for _ in 0..READERS {
            let mut socket = Socket::open(&self.endpoint).await?;
            let channel = format!("agent:{}", self.agents.scripted);
            let connect = json!({"id": 1, "type": "connect", "channels": ["tenant", channel]});
            socket.command(&connect).await?;
            readers.spawn(async move {
                let read = timeout(TIMEOUT, read_events(&mut socket)).await;
                read.context("a socket that reads did not receive all events")?
            });
        }
        generator.spawn(generate_events(
            self.endpoint.clone(),
            self.agents.rules.clone(),
        ));
        Ok(EventLoad { readers, generator })
    }
}

/// Generated events, and sockets that read them.
struct EventLoad {
    readers: JoinSet<Result<usize>>,
    generator: JoinSet<Result<()>>,
}

impl EventLoad {
    /// Waits until all events are generated and read; returns how many the sockets read together.
    async fn finish(self) -> Result<usize> {
        for generated in self.generator.join_all().await {
            generated?;
        }
        self.readers.join_all().await.into_iter().sum()
    }
}

fn judge(
    misbehaviour: Misbehaviour,
    report: &mut Report,
    dropped: Option<Duration>,
    (before, during): (Vec<Duration>, Vec<Duration>),
) -> Result<()> {
    let (before, during) = (p99(before)?, p99(during)?);
    report.add_figure("others' p99 before", before, "ms");
    report.add_figure("others' p99 meanwhile", during, "ms");
    let slower = during.max(NOISE) / before.max(NOISE);
    report.add_bounded("others' p99 meanwhile ÷ before", slower, "×", SLOWER);
    match dropped {
        Some(after) => {
            let most = (misbehaviour.deadline() + WINDOW).as_secs_f64();
            report.add_bounded("all dropped after", after.as_secs_f64(), "s", most);
        }
        None => report.record_loss("not dropped", || misbehaviour.name().to_owned()),
    }
    Ok(())
}

/// Reads all events in order until those of the generated chats are complete; returns their number.
async fn read_events(socket: &mut Socket) -> Result<usize> {
    let (mut last, mut count) = (None, 0);
    while count < EVENTS {
        let frame = match socket.next().await? {
            Frame::Text(frame) => socket::json(&frame)?,
            end => bail!("the server ended a socket that reads: {end:?}"),
        };
        if frame["type"] != "event" {
            continue;
        }
        let seq = frame["event"]["seq"].as_i64();
        if last.is_some() && seq != last.map(|last: i64| last + 1) {
            bail!("{last:?} is followed by {seq:?}");
        }
        last = seq;
        count += usize::from(frame["event"]["userId"] == USER);
    }
    Ok(count)
}

/// Sends chats with long messages, which write a thousand long events.
async fn generate_events(endpoint: Endpoint, agent: String) -> Result<()> {
    let client = ApiClient::new(&endpoint);
    let message = "long ".repeat(CHARACTERS / 5);
    let body = json!({"agentId": agent, "userId": USER, "message": message});
    for _ in 0..CHATS {
        client.call(Method::POST, "/api/chat", Some(&body)).await?;
        sleep(Duration::from_millis(4)).await;
    }
    Ok(())
}
