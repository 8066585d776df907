//! Clients that lose their sockets all the time, and find everything again by the cursor.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use anyhow::{Context as _, Result, bail};
use serde_json::{Value, json};
use tokio::{
    task::JoinSet,
    time::{Instant, sleep, timeout},
};

use super::{
    audit,
    chance::Chance,
    chat::{Chat, Form, Pace, Speaker},
    findings::Findings,
    ground::{Cast, Ground, Store},
    log::Log,
    told::{Deadline, Nodes, Told},
};
use crate::rig::{
    load::Endpoint,
    service::Service,
    socket::{self, Frame, Socket},
};

/// Clients that follow everything, and how often each loses its socket.
const CLIENTS: usize = 4;
const LOSSES: usize = 250;
/// Turns that stream meanwhile.
const TURNS: usize = 200;
/// Within this time a client has caught up once nothing happens any more.
const PATIENCE: Duration = Duration::from_secs(30);

/// What a client knows.
#[derive(Default)]
struct Known {
    /// The position of the last event that it saw.
    cursor: i64,
    /// The texts of replies, as far as they have been told.
    texts: BTreeMap<String, String>,
    /// Turns that are completed.
    completed: BTreeMap<String, String>,
    /// What should not have come.
    faults: Vec<String>,
    /// Turns whose whole text came as it was spoken.
    heard: usize,
    /// How often the client lost its socket.
    lost: usize,
}

/// Streams turns, and lets clients lose their sockets at random moments.
pub(super) async fn run(ground: &Ground, store: Store) -> Result<Findings> {
    let (name, on) = match store {
        Store::Sqlite => ("resume_sqlite", "SQLite"),
        Store::Postgres => ("resume_postgres", "Postgres, two nodes in turn"),
    };
    let done = format!(
        "{TURNS} streams, {} sockets lost, on {on}",
        CLIENTS * LOSSES
    );
    let mut findings = Findings::of("resume", done);
    findings.expect_none(&["not once and in order", "another text", "not told"]);
    let settings = ground.settings(store, name)?;
    let service = Service::start(settings.clone())?;
    let endpoint = service.endpoint()?;
    let second = match store {
        Store::Sqlite => None,
        Store::Postgres => Some(Service::start(settings)?),
    };
    let services = std::iter::once(&service).chain(&second);
    let endpoints: Vec<Endpoint> = services.map(Service::endpoint).collect::<Result<_>>()?;
    let cast = Cast::prepare(&endpoint).await?;
    let mut chance = Chance::new(ground.seed);
    let nodes = Nodes::default();
    nodes.are(endpoints.clone());
    let mut talking = talk(&cast, name, &nodes, &mut chance);
    let left = Arc::new(AtomicUsize::new(CLIENTS));
    let mut clients = JoinSet::new();
    for number in 0..CLIENTS {
        let seed = Chance::new(ground.seed.wrapping_add(u64::try_from(number)?));
        clients.spawn(follow(endpoints.clone(), seed, Arc::clone(&left)));
    }
    let mut told = Vec::new();
    while let Some(ended) = talking.join_next().await {
        told.push(ended.context("a chat's task panicked")?);
    }
    let mut log = Log::default();
    for client in clients.join_all().await {
        log.read_on(&endpoint).await?;
        judge(client?, &log, &told, &mut findings);
    }
    audit::run(&endpoint, &told, &mut findings).await?;
    Ok(findings)
}

/// Begins the turns, ten a second, and waits for their replies.
fn talk(cast: &Cast, name: &str, nodes: &Nodes, chance: &mut Chance) -> JoinSet<Told> {
    let mut talking = JoinSet::new();
    for number in 0..TURNS {
        let tag = format!("{name}-{number:03}");
        let pace = Pace {
            first: chance.milliseconds(0..300),
            between: chance.milliseconds(10..80),
            more: usize::try_from(chance.number(10..60)).unwrap_or_default(),
        };
        let told = Told::nothing(Chat {
            speaker: Speaker::Scripted(cast.scripted.clone(), pace),
            conversation: None,
            key: Some(format!("key-{tag}")),
            form: Form::Whole,
            tag,
        });
        let (nodes, start) = (nodes.clone(), Duration::from_millis(100));
        let start = start * u32::try_from(number).unwrap_or_default();
        let deadline = Deadline {
            number,
            at: Instant::now() + start + PATIENCE,
        };
        talking.spawn(async move {
            sleep(start).await;
            told.ask_until_replied(nodes, deadline).await
        });
    }
    talking
}

/// Follows everything, loses its socket again and again, and goes on until it has caught up.
async fn follow(
    endpoints: Vec<Endpoint>,
    mut chance: Chance,
    left: Arc<AtomicUsize>,
) -> Result<Known> {
    let mut known = Known::default();
    let sockets = endpoints.iter().cycle();
    for endpoint in sockets.take(LOSSES) {
        let mut socket = known.connect(endpoint).await?;
        let long_enough = chance.milliseconds(1..140);
        // The end of this time is where the socket is lost, in whatever is just coming.
        if let Ok(ended) = timeout(long_enough, known.read(&mut socket, i64::MAX)).await {
            ended?;
        }
        if chance.is_one_in(2) {
            socket.close().await?;
        }
        known.lost += 1;
    }
    left.fetch_sub(1, Ordering::Relaxed);
    known.catch_up(&endpoints, &left).await?;
    Ok(known)
}

impl Known {
    async fn connect(&self, endpoint: &Endpoint) -> Result<Socket> {
        let mut socket = Socket::open(endpoint).await?;
        let command = json!({
            "id": 1, "type": "connect", "channels": ["tenant"], "since": self.cursor,
        });
        socket.send(&command).await?;
        Ok(socket)
    }

    /// Reads until this position.
    async fn read(&mut self, socket: &mut Socket, end: i64) -> Result<()> {
        while self.cursor < end {
            match socket.next().await? {
                Frame::Text(frame) => self.take(&socket::json(&frame)?),
                end => bail!("the server ended a socket: {end:?}"),
            }
        }
        Ok(())
    }

    fn take(&mut self, frame: &Value) {
        let event = &frame["event"];
        match frame["type"].as_str() {
            Some("event") => self.take_event(event),
            Some("live") => self.take_live(event),
            Some("reply") if frame["ok"] == true => {}
            Some("caughtUp" | "ping") => {}
            _ => self.faults.push(format!("{frame}")),
        }
    }

    fn take_event(&mut self, event: &Value) {
        let seq = event["seq"].as_i64().unwrap_or_default();
        if seq != self.cursor + 1 {
            let cursor = self.cursor;
            self.faults.push(format!("after {cursor} comes {seq}"));
        }
        self.cursor = seq;
        if event["type"] == "turn.completed" {
            let turn = event["turnId"].as_str().unwrap_or_default().to_owned();
            let content = event["data"]["message"]["content"].as_str();
            let content = content.unwrap_or_default();
            let text = self.texts.remove(&turn).unwrap_or_default();
            if !content.starts_with(&text) {
                self.faults
                    .push(format!("{turn} said {content}, not {text}"));
            }
            self.heard += usize::from(text == content);
            self.completed.insert(turn, content.to_owned());
        }
    }

    fn take_live(&mut self, live: &Value) {
        let turn = live["turnId"].as_str().unwrap_or_default();
        if self.completed.contains_key(turn) {
            return;
        }
        let text = live["text"].as_str().unwrap_or_default();
        let known = self.texts.entry(turn.to_owned()).or_default();
        match live["type"].as_str() {
            Some("reply.delta") if live["from"] == known.len() => known.push_str(text),
            // Something was missed: the end of the turn tells all.
            Some("reply.delta") => {}
            Some("reply.snapshot") if live["to"] == text.len() => text.clone_into(known),
            _ => self.faults.push(format!("{live}")),
        }
    }

    /// Stays until nothing is told any more.
    async fn catch_up(&mut self, endpoints: &[Endpoint], left: &AtomicUsize) -> Result<()> {
        let endpoint = endpoints.first().context("nobody lives")?;
        let deadline = Instant::now() + PATIENCE * 2;
        while Instant::now() < deadline {
            let mut log = Log::default();
            log.read_on(endpoint).await?;
            let mut socket = self.connect(endpoint).await?;
            let read = timeout(PATIENCE, self.read(&mut socket, log.head)).await;
            read.context("a client does not catch up")??;
            let all = log.turns.values().filter(|story| story.is_final());
            if all.count() >= TURNS && left.load(Ordering::Relaxed) == 0 {
                return Ok(());
            }
            sleep(Duration::from_millis(500)).await;
        }
        bail!("the turns do not end")
    }
}

fn judge(known: Known, log: &Log, told: &[Told], findings: &mut Findings) {
    findings.count("sockets lost", known.lost);
    findings.count("turns heard whole", known.heard);
    findings.lose_all("not once and in order", known.faults);
    for told in told {
        for place in told.replied.iter().take(1) {
            match known.completed.get(&place.turn) {
                None => findings.lose("not told", || format!("{told:?}")),
                Some(text) if *text != told.chat.reply() => {
                    findings.lose("another text", || format!("{text} of {told:?}"));
                }
                Some(_) => {}
            }
        }
    }
    let completed = log.turns.values().filter(|story| story.is_completed());
    if completed.count() != known.completed.len() {
        findings.lose("not told", || format!("{} turns", known.completed.len()));
    }
}
