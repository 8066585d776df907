//! F5: clients that do what should not be done, and what others notice of it.

use std::{thread, time::Duration};

use anyhow::{Context as _, Result, bail};
use serde_json::json;
use tokio::{
    task::JoinSet,
    time::{Instant, sleep, timeout},
};

use super::{
    descriptors,
    findings::Findings,
    ground::{Cast, Ground, Store},
    memory::Watch,
    offence::Offence,
    others::{WINDOW, p99, wait},
};
use crate::rig::{
    load::{Connection, Endpoint},
    service::Service,
    socket::{self, Frame, Socket},
};

/// Windows in which others are watched before the offence.
const QUIET: usize = 3;
/// How much longer others may wait.
const SLOWER: f64 = 2.0;
/// Below this many milliseconds it is the machine that is measured.
const NOISE: f64 = 3.0;
/// How much more memory may be taken, beside what the clients cost.
const FLAT: f64 = 1.2;
/// Descriptors that others may have opened meanwhile.
const OTHERS: usize = 16;
/// Chats, each in a conversation of its own, their events, and the characters of their messages:
/// together more than the system keeps for who does not read.
const CHATS: usize = 334;
const EVENTS: usize = CHATS * 3;
const CHARACTERS: usize = 16_000;
/// Sockets that read, beside those that do not.
const READERS: usize = 5;
/// How long a reader may take for all events.
const PATIENCE: Duration = Duration::from_mins(1);

/// The service, and those who use it as they should.
struct Stage {
    store: Store,
    service: Service,
    endpoint: Endpoint,
    cast: Cast,
}

/// Commits each offence beside clients that do nothing wrong.
pub(super) async fn run(ground: &Ground, store: Store) -> Result<Vec<Findings>> {
    let (service, cast) = ground.start(store, "offenders").await?;
    let stage = Stage {
        store,
        endpoint: service.endpoint()?,
        service,
        cast,
    };
    // The first windows fill caches.
    stage.watch("warm").await?;
    stage.watch("warm").await?;
    let mut all = Vec::new();
    for offence in Offence::ALL {
        all.push(stage.suffer(offence).await.context(offence.name())?);
    }
    Ok(all)
}

impl Stage {
    async fn watch(&self, name: &str) -> Result<Vec<Duration>> {
        wait(&self.endpoint, &self.cast, name).await
    }

    async fn suffer(&self, offence: Offence) -> Result<Findings> {
        let mut findings = Findings::of("F5", format!("{}, {}", offence.name(), self.store.name()));
        findings.expect_none(&["not dropped"]);
        let process = self.service.id()?;
        let memory = Watch::over(process);
        let mut quiet = Vec::new();
        for _ in 0..QUIET {
            quiet.extend(self.watch("quiet").await?);
        }
        let (before, open) = (memory.take_highest(), descriptors::of(process)?);
        let readers = match offence {
            Offence::UnreadSocket => self.readers().await?,
            _ => JoinSet::new(),
        };
        let offenders = offence.commit(&self.endpoint).await?;
        let began = Instant::now();
        let mut events = JoinSet::new();
        if offence == Offence::UnreadSocket {
            events.spawn(happen(self.endpoint.clone(), self.cast.rules.clone()));
        }
        let (mut loud, mut dropped) = (self.watch("loud").await?, None);
        while dropped.is_none() && began.elapsed() < offence.deadline() + WINDOW * 2 {
            let left = descriptors::of(process)?.saturating_sub(open + readers.len());
            if left <= OTHERS.min(offence.clients() as usize / 4) {
                dropped = Some(began.elapsed());
            } else {
                loud.extend(self.watch("loud").await?);
            }
        }
        let meanwhile = memory.take_highest();
        drop(offenders);
        for happened in events.join_all().await {
            happened?;
        }
        for read in readers.join_all().await {
            findings.count("events read by others", read?);
        }
        judge(offence, &mut findings, dropped, (quiet, loud));
        let most = before * FLAT + f64::from(offence.clients() * offence.memory()) / 1_024.0;
        findings.tell("resident before", before, "MiB");
        findings.bound("resident meanwhile", meanwhile, "MiB", most);
        // What was left open by the offence must not be counted to the next.
        thread::sleep(Duration::from_secs(1));
        Ok(findings)
    }

    /// Sockets that read what happens as it comes.
    async fn readers(&self) -> Result<JoinSet<Result<usize>>> {
        let mut readers = JoinSet::new();
        for _ in 0..READERS {
            let mut socket = Socket::open(&self.endpoint).await?;
            let channel = format!("agent:{}", self.cast.scripted);
            let connect = json!({"id": 1, "type": "connect", "channels": ["tenant", channel]});
            socket.command(&connect).await?;
            readers.spawn(async move {
                let read = timeout(PATIENCE, read(&mut socket)).await;
                read.context("a socket that reads does not hear everything")?
            });
        }
        Ok(readers)
    }
}

fn judge(
    offence: Offence,
    findings: &mut Findings,
    dropped: Option<Duration>,
    (quiet, loud): (Vec<Duration>, Vec<Duration>),
) {
    let (quiet, loud) = (p99(quiet), p99(loud));
    findings.tell("others' p99 before", quiet, "ms");
    findings.tell("others' p99 meanwhile", loud, "ms");
    let slower = loud.max(NOISE) / quiet.max(NOISE);
    findings.bound("others' p99 meanwhile ÷ before", slower, "×", SLOWER);
    match dropped {
        Some(after) => {
            let most = (offence.deadline() + WINDOW).as_secs_f64();
            findings.bound("all dropped after", after.as_secs_f64(), "s", most);
        }
        None => findings.lose("not dropped", || offence.name().to_owned()),
    }
}

/// Reads the events of the chats, and of others, in order; answers how many of the first there were.
async fn read(socket: &mut Socket) -> Result<usize> {
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
            bail!("after {last:?} comes {seq:?}");
        }
        last = seq;
        count += usize::from(frame["event"]["userId"] == TALKER);
    }
    Ok(count)
}

/// Whose chats are counted.
const TALKER: &str = "talker";

/// Says so much that a thousand long events come of it.
async fn happen(endpoint: Endpoint, agent: String) -> Result<()> {
    let mut connection = Connection::open(endpoint.address).await?;
    let message = "long ".repeat(CHARACTERS / 5);
    let body = json!({"agentId": agent, "userId": TALKER, "message": message});
    for _ in 0..CHATS {
        let said = endpoint.call(&mut connection, "POST", "/api/chat", Some(&body));
        said.await?;
        sleep(Duration::from_millis(4)).await;
    }
    Ok(())
}
