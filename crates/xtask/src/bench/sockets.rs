//! S7, S8: what idle sockets cost, and how soon all of them hear of an event.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use serde_json::json;
use tokio::{
    sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel},
    task::JoinSet,
    time::{sleep, timeout},
};

use super::{
    Row,
    figures::{Figure, Part, Target},
    stage::Stage,
    talk::text,
};
use crate::rig::{
    load::{Connection, Endpoint, Latencies, runtime},
    processor,
    service::Service,
    socket::{Frame, Socket},
};

/// Sockets that are measured.
const SOCKETS: u32 = 10_000;
/// Sockets that are opened before, so that what the first of them need is not counted to the rest.
const FIRST: u32 = 200;
/// Descriptors of each process beside its sockets.
const OTHERS: u64 = 500;
/// How long nothing happens: each socket is pinged once in this time.
const IDLE: Duration = Duration::from_secs(25);
/// How long the service rests before its memory is read.
const REST: Duration = Duration::from_secs(2);
/// Events that are told to all.
const EVENTS: usize = 24;
/// Between two events.
const BETWEEN: Duration = Duration::from_millis(300);
/// How long an event may take to reach everybody.
const PATIENCE: Duration = Duration::from_secs(10);
/// How the frame of an event begins.
const EVENT: &[u8] = br#"{"type":"event""#;

/// Sockets that follow everything, and tell when something happened.
struct Crowd {
    endpoint: Endpoint,
    /// Closes them when dropped.
    sockets: JoinSet<Result<()>>,
    tell: UnboundedSender<Instant>,
    heard: UnboundedReceiver<Instant>,
}

/// Opens the sockets on a service of their own, and measures both rows.
pub(super) fn measure(stage: &Stage, wanted: impl Fn(Row) -> bool) -> Result<Vec<Figure>> {
    let limit =
        rlimit::increase_nofile_limit(rlimit::INFINITY).context("cannot open more files")?;
    if limit < u64::from(SOCKETS + FIRST) + OTHERS {
        bail!("only {limit} files may be open at once (ulimit -n), too few for {SOCKETS} sockets");
    }
    let service = stage.for_sockets()?;
    runtime()?.block_on(async {
        let mut crowd = Crowd::new(service.endpoint()?);
        crowd.grow(FIRST).await?;
        sleep(REST).await;
        let before = service.resident()?;
        crowd.grow(SOCKETS).await?;
        sleep(REST).await;
        let after = service.resident()?;
        let mut figures = Vec::new();
        if wanted(Row::S7) {
            figures.push(memory(before, after));
            figures.push(idle(&service).await?);
        }
        if wanted(Row::S8) {
            figures.push(crowd.tell_all(&service).await?);
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

/// Does nothing for a while.
async fn idle(service: &Service) -> Result<Figure> {
    let started = Instant::now();
    let before = processor::seconds(service.id()?)?;
    sleep(IDLE).await;
    let taken = processor::seconds(service.id()?)? - before;
    let each = taken * 1e6 / started.elapsed().as_secs_f64() / f64::from(SOCKETS + FIRST);
    Ok(Figure::new(
        (
            "S7",
            "processor of an idle socket, a second, pings included",
        ),
        Target::AtMost(3.0),
        each,
        "µs",
        vec![Part::new("processor in 25 s, all", taken, "s")],
    ))
}

impl Crowd {
    fn new(endpoint: Endpoint) -> Self {
        let (tell, heard) = unbounded_channel();
        Self {
            endpoint,
            sockets: JoinSet::new(),
            tell,
            heard,
        }
    }

    async fn grow(&mut self, sockets: u32) -> Result<()> {
        let connect = json!({"id": 1, "type": "connect", "channels": ["tenant"]});
        for _ in 0..sockets {
            let mut socket = Socket::open(&self.endpoint).await?;
            socket.command(&connect).await?;
            self.sockets.spawn(follow(socket, self.tell.clone()));
        }
        Ok(())
    }

    /// Changes an agent again and again, and waits each time until everybody knows.
    async fn tell_all(&mut self, service: &Service) -> Result<Figure> {
        let mut connection = Connection::open(self.endpoint.address).await?;
        let draft = json!({"name": "Agent 0"});
        let call = self
            .endpoint
            .call(&mut connection, "POST", "/api/agents", Some(&draft));
        let path = format!("/api/agents/{}", text(&call.await?, "id")?);
        self.hear().await?;
        let (mut all, mut last) = (Vec::new(), Vec::new());
        let processes = [service.id()?, std::process::id()];
        let before = processes.map(processor::seconds);
        for number in 1..=EVENTS {
            sleep(BETWEEN).await;
            let change = json!({"name": format!("Agent {number}")});
            let asked = Instant::now();
            let call = self
                .endpoint
                .call(&mut connection, "PATCH", &path, Some(&change));
            call.await?;
            let heard = self.hear().await?;
            last.extend(heard.iter().max().map(|at| *at - asked));
            all.extend(heard.into_iter().map(|at| at - asked));
        }
        let after = processes.map(processor::seconds);
        let deliveries = f64::from(u32::try_from(all.len())?);
        let mut figure = told(&Latencies::new(all), &Latencies::new(last));
        let names = [
            "a delivery, processor",
            "a delivery, processor of the listener",
        ];
        for ((name, before), after) in names.into_iter().zip(before).zip(after) {
            let each = (after? - before?) * 1e6 / deliveries;
            figure.from.push(Part::new(name, each, "µs"));
        }
        Ok(figure)
    }

    /// When each socket heard of the next event.
    async fn hear(&mut self) -> Result<Vec<Instant>> {
        let mut heard = Vec::with_capacity(self.sockets.len());
        let hearing = timeout(PATIENCE, async {
            while heard.len() < self.sockets.len() {
                heard.push(self.heard.recv().await.context("nobody is there")?);
            }
            anyhow::Ok(())
        });
        if hearing.await.is_err() {
            if let Some(Ok(Err(error))) = self.sockets.try_join_next() {
                return Err(error);
            }
            bail!(
                "{} of {} heard of an event",
                heard.len(),
                self.sockets.len()
            );
        }
        Ok(heard)
    }
}

async fn follow(mut socket: Socket, tell: UnboundedSender<Instant>) -> Result<()> {
    loop {
        match socket.next().await? {
            Frame::Text(frame) if frame.starts_with(EVENT) => tell.send(Instant::now())?,
            Frame::Text(_) => {}
            end => bail!("the server ended a socket: {end:?}"),
        }
    }
}

fn told(all: &Latencies, last: &Latencies) -> Figure {
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
