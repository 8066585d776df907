//! S7, S8: the cost of idle sockets, and the time in which an event reaches all of them.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use dev_load::{
    Endpoint,
    http::{ApiClient, Method},
    latencies::Latencies,
    process_stats, runtime,
    service::Service,
    socket::{Frame, Socket},
};
use serde_json::json;
use tokio::{
    sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel},
    task::JoinSet,
    time::{sleep, timeout},
};

use super::{
    Row,
    environment::Environment,
    figures::{Figure, Part, Target},
    workload::text,
};

/// The number of sockets that are measured.
const SOCKETS: u32 = 10_000;
/// Sockets that are opened before, so that one-time allocations are not counted.
const WARM_UP_SOCKETS: u32 = 200;
/// The descriptors that each process needs beside its sockets.
const OTHER_DESCRIPTORS: u64 = 500;
/// The idle time that is measured; the service pings each socket once in this time.
const IDLE: Duration = Duration::from_secs(25);
/// The pause before memory is read.
const REST: Duration = Duration::from_secs(2);
/// The number of events.
const EVENTS: usize = 24;
/// The pause between two events.
const EVENT_PAUSE: Duration = Duration::from_millis(300);
/// The longest that an event may take to reach all sockets.
const TIMEOUT: Duration = Duration::from_secs(10);
/// The first bytes of an event frame.
const EVENT: &str = r#"{"type":"event""#;

/// Sockets that subscribe to all events of the tenant.
struct Subscribers {
    endpoint: Endpoint,
    /// One task a socket; dropping them closes the sockets.
    sockets: JoinSet<Result<()>>,
    sender: UnboundedSender<Instant>,
    deliveries: UnboundedReceiver<Instant>,
}

/// Opens the sockets on a service of their own, and measures the requested rows.
pub(super) fn measure(
    environment: &Environment,
    wanted: impl Fn(Row) -> bool,
) -> Result<Vec<Figure>> {
    let limit =
        rlimit::increase_nofile_limit(rlimit::INFINITY).context("cannot open more files")?;
    if limit < u64::from(SOCKETS + WARM_UP_SOCKETS) + OTHER_DESCRIPTORS {
        bail!("only {limit} files may be open at once (ulimit -n), too few for {SOCKETS} sockets");
    }
    let service = environment.for_sockets()?;
    runtime()?.block_on(async {
        let mut subscribers = Subscribers::new(service.endpoint()?);
        subscribers.add(WARM_UP_SOCKETS).await?;
        sleep(REST).await;
        let before = service.resident()?;
        subscribers.add(SOCKETS).await?;
        sleep(REST).await;
        let after = service.resident()?;
        let mut figures = Vec::new();
        if wanted(Row::S7) {
            figures.push(memory(before, after));
            figures.push(idle(&service).await?);
        }
        if wanted(Row::S8) {
            figures.push(subscribers.measure_delivery(&service).await?);
        }
        Ok(figures)
    })
}

fn memory(before: f64, after: f64) -> Figure {
    Figure::new(
        ("S7", "memory of an idle socket, of 10,000"),
        Target::AtMost(24.0),
        (after - before) * 1_024.0 / f64::from(SOCKETS),
        "KiB",
        vec![
            Part::new("resident before", before, "MiB"),
            Part::new("resident with them", after, "MiB"),
        ],
    )
}

/// Measures the processor time of idle sockets.
async fn idle(service: &Service) -> Result<Figure> {
    let started = Instant::now();
    let before = process_stats::cpu_seconds(service.id()?)?;
    sleep(IDLE).await;
    let cpu_seconds = process_stats::cpu_seconds(service.id()?)? - before;
    let sockets = f64::from(SOCKETS + WARM_UP_SOCKETS);
    Ok(Figure::new(
        (
            "S7",
            "processor of an idle socket, a second, pings included",
        ),
        Target::AtMost(3.0),
        cpu_seconds * 1e6 / started.elapsed().as_secs_f64() / sockets,
        "µs",
        vec![Part::new("processor in 25 s, all", cpu_seconds, "s")],
    ))
}

impl Subscribers {
    fn new(endpoint: Endpoint) -> Self {
        let (sender, deliveries) = unbounded_channel();
        Self {
            endpoint,
            sockets: JoinSet::new(),
            sender,
            deliveries,
        }
    }

    /// Opens and subscribes further sockets.
    async fn add(&mut self, sockets: u32) -> Result<()> {
        let connect = json!({"id": 1, "type": "connect", "channels": ["tenant"]});
        for _ in 0..sockets {
            let mut socket = Socket::open(&self.endpoint).await?;
            socket.command(&connect).await?;
            self.sockets
                .spawn(report_events(socket, self.sender.clone()));
        }
        Ok(())
    }

    /// Changes an agent repeatedly, and waits each time until all sockets have the event.
    async fn measure_delivery(&mut self, service: &Service) -> Result<Figure> {
        let client = ApiClient::new(&self.endpoint);
        let draft = json!({"name": "Agent 0"});
        let agent = client.call(Method::POST, "/api/agents", Some(&draft));
        let path = format!("/api/agents/{}", text(&agent.await?, "id")?);
        self.wait_for_event().await?;
        let (mut all, mut last) = (Vec::new(), Vec::new());
        let processes = [service.id()?, std::process::id()];
        let before = processes.map(process_stats::cpu_seconds);
        for number in 1..=EVENTS {
            sleep(EVENT_PAUSE).await;
            let change = json!({"name": format!("Agent {number}")});
            let sent_at = Instant::now();
            client.call(Method::PATCH, &path, Some(&change)).await?;
            let delivered = self.wait_for_event().await?;
            last.extend(delivered.iter().max().map(|at| *at - sent_at));
            all.extend(delivered.into_iter().map(|at| at - sent_at));
        }
        let after = processes.map(process_stats::cpu_seconds);
        let deliveries = f64::from(u32::try_from(all.len())?);
        let mut figure = delivery_figure(&Latencies::new(all)?, &Latencies::new(last)?);
        let names = [
            "a delivery, processor",
            "a delivery, processor of the subscriber",
        ];
        for ((name, before), after) in names.into_iter().zip(before).zip(after) {
            let each = (after? - before?) * 1e6 / deliveries;
            figure.from.push(Part::new(name, each, "µs"));
        }
        Ok(figure)
    }

    /// Returns the time at which each socket received the next event.
    async fn wait_for_event(&mut self) -> Result<Vec<Instant>> {
        let mut delivered = Vec::with_capacity(self.sockets.len());
        let waiting = timeout(TIMEOUT, async {
            while delivered.len() < self.sockets.len() {
                delivered.push(self.deliveries.recv().await.context("no sockets")?);
            }
            anyhow::Ok(())
        });
        if waiting.await.is_err() {
            if let Some(Ok(Err(error))) = self.sockets.try_join_next() {
                return Err(error);
            }
            let (received, all) = (delivered.len(), self.sockets.len());
            bail!("{received} of {all} sockets received an event");
        }
        Ok(delivered)
    }
}

/// Sends the arrival time of each event to `sender`.
async fn report_events(mut socket: Socket, sender: UnboundedSender<Instant>) -> Result<()> {
    loop {
        match socket.next().await? {
            Frame::Text(frame) if frame.starts_with(EVENT) => sender.send(Instant::now())?,
            Frame::Text(_) => {}
            end => bail!("the server ended a socket: {end:?}"),
        }
    }
}

fn delivery_figure(all: &Latencies, last: &Latencies) -> Figure {
    Figure::new(
        (
            "S8",
            "one event to 10,000 sockets, the last of them, p99 of 24",
        ),
        Target::AtMost(250.0),
        last.percentile(99),
        "ms",
        vec![
            Part::new("last delivery, median", last.percentile(50), "ms"),
            Part::new("all deliveries, median", all.percentile(50), "ms"),
            Part::new("all deliveries, p99", all.percentile(99), "ms"),
        ],
    )
}
