//! F7: the process is asked to go while it works.

use std::{
    thread,
    time::{Duration, Instant},
};

use anyhow::{Result, bail};
use tokio::{
    task::JoinSet,
    time::{sleep, timeout},
};

use super::{
    audit,
    chance::Chance,
    chat::{Chat, Form, PATIENCE, Pace, Speaker},
    chats::Chats,
    findings::Findings,
    ground::{Cast, Ground, Store, rooms},
    log::Log,
    told::{Nodes, Told},
};
use crate::rig::{
    load::Endpoint,
    service::Service,
    socket::{Frame, Socket, json},
};

/// How long chats come before the signal, and after it.
const BEFORE: Duration = Duration::from_secs(3);
const AFTER: Duration = Duration::from_secs(8);
/// Between two chats.
const BETWEEN: Duration = Duration::from_millis(10);
/// Within this time the process has ended.
const EXIT: Duration = Duration::from_secs(35);
/// Within this time others have run what was left to them.
const TAKEN_OVER: Duration = Duration::from_secs(20);
/// Streams, each of which takes longer than any process that goes.
const ENDLESS: usize = 5;
/// Sockets that listen.
const SOCKETS: usize = 50;
/// Turns that wait behind one that does not end in time, and for which nobody waits.
const QUEUED: usize = 3;

/// A script that takes a minute.
const MINUTE: Pace = Pace {
    first: Duration::from_secs(1),
    between: Duration::from_secs(2),
    more: 28,
};

/// Ends a service under load.
pub(super) async fn run(ground: &Ground, store: Store) -> Result<Findings> {
    let (name, second) = match store {
        Store::Sqlite => ("terminate_sqlite", ""),
        Store::Postgres => ("terminate_postgres", ", beside a second node"),
    };
    let done = format!("SIGTERM under 100 chats/s, on {}{second}", store.name());
    let mut findings = Findings::of("F7", done);
    findings.expect_none(&["cut", "without goodbye", "exit code", "not taken over"]);
    let settings = ground.settings(store, name)?;
    let mut service = Service::start(settings.clone())?;
    let endpoint = service.endpoint()?;
    let cast = Cast::prepare(&endpoint).await?;
    let second = match store {
        Store::Sqlite => None,
        Store::Postgres => Some(Service::start(settings)?),
    };
    let nodes = Nodes::default();
    nodes.are(vec![endpoint.clone()]);
    let chance = Chance::new(ground.seed);
    let mut chats = Chats::prepare(&endpoint, &cast, name.to_owned(), chance).await?;
    (chats.between, chats.script) = (BETWEEN, 50..3_000);
    let sockets = listen(&endpoint).await?;
    let mut queue = queue(&endpoint, &cast, name).await?;
    let endless = endless(&endpoint, &cast, name);
    let mut load = JoinSet::new();
    let clients = nodes.clone();
    load.spawn(async move {
        let mut asking = JoinSet::new();
        chats.go_on(&clients, BEFORE + AFTER, &mut asking).await;
        asking.join_all().await
    });
    // The load goes on beside this, on threads of its own.
    thread::sleep(BEFORE);
    end(&mut service, &mut findings)?;
    if second.is_none() {
        service.start_again()?;
    }
    let survivor = second.as_ref().unwrap_or(&service).endpoint()?;
    nodes.are(vec![survivor.clone()]);
    let mut told: Vec<Told> = load.join_all().await.into_iter().flatten().collect();
    told.extend(endless.join_all().await);
    judge_answers(&told, &mut findings);
    for goodbye in sockets.join_all().await {
        if let Err(error) = goodbye {
            findings.lose("without goodbye", || format!("{error:#}"));
        }
    }
    judge_queue(store, &survivor, &queue, &mut findings).await?;
    told.append(&mut queue);
    finished(&survivor).await?;
    audit::run(&survivor, &told, &mut findings).await?;
    Ok(findings)
}

/// Waits until no turn is under way: what the process that went interrupted was asked again of the
/// one that came, maybe a moment ago, and is run there.
async fn finished(endpoint: &Endpoint) -> Result<()> {
    let began = Instant::now();
    let mut log = Log::default();
    log.read_on(endpoint).await?;
    while !log.unfinished().is_empty() && began.elapsed() < TAKEN_OVER {
        sleep(Duration::from_millis(100)).await;
        log.read_on(endpoint).await?;
    }
    Ok(())
}

/// Sends the signal, and waits for the end.
pub(super) fn end(service: &mut Service, findings: &mut Findings) -> Result<()> {
    let asked = Instant::now();
    service.terminate()?;
    let status = loop {
        if let Some(status) = service.ended()? {
            break status;
        }
        if asked.elapsed() > EXIT * 2 {
            bail!("the service does not end");
        }
        thread::sleep(Duration::from_millis(20));
    };
    let took = asked.elapsed().as_secs_f64();
    findings.bound("exit after", took, "s", EXIT.as_secs_f64());
    if !status.success() {
        findings.lose("exit code", || status.to_string());
    }
    Ok(())
}

/// Sockets that wait for their goodbye.
async fn listen(endpoint: &Endpoint) -> Result<JoinSet<Result<()>>> {
    let mut sockets = JoinSet::new();
    let connect = serde_json::json!({"id": 1, "type": "connect", "channels": ["tenant"]});
    for _ in 0..SOCKETS {
        let mut socket = Socket::open(endpoint).await?;
        socket.command(&connect).await?;
        sockets.spawn(async move { timeout(PATIENCE, goodbye(&mut socket)).await? });
    }
    Ok(sockets)
}

async fn goodbye(socket: &mut Socket) -> Result<()> {
    let mut is_told = false;
    loop {
        match socket.next().await? {
            Frame::Text(frame) => {
                let frame = json(&frame)?;
                if frame["type"] == "goodbye" {
                    is_told = frame["code"] == 4200 && frame["reconnectAfterMs"].is_u64();
                }
            }
            Frame::Close(4200) if is_told => return Ok(()),
            other => bail!("{other:?}, told: {is_told}"),
        }
    }
}

/// A turn that does not end in time, and others behind it.
async fn queue(endpoint: &Endpoint, cast: &Cast, name: &str) -> Result<Vec<Told>> {
    let room = rooms(endpoint, &cast.scripted, 1).await?;
    let mut queue = Vec::new();
    for number in 0..=QUEUED {
        let pace = if number == 0 { MINUTE } else { Pace::default() };
        let mut told = Told::nothing(Chat {
            tag: format!("{name}-queue-{number}"),
            speaker: Speaker::Scripted(cast.scripted.clone(), pace),
            conversation: room.first().cloned(),
            key: None,
            form: Form::Turn,
        });
        told.ask(endpoint).await;
        queue.push(told);
    }
    Ok(queue)
}

/// Streams that last longer than the process.
fn endless(endpoint: &Endpoint, cast: &Cast, name: &str) -> JoinSet<Told> {
    let mut streams = JoinSet::new();
    for number in 0..ENDLESS {
        let mut told = Told::nothing(Chat {
            tag: format!("{name}-endless-{number}"),
            speaker: Speaker::Scripted(cast.scripted.clone(), MINUTE),
            conversation: None,
            key: None,
            form: Form::Stream,
        });
        let endpoint = endpoint.clone();
        streams.spawn(async move {
            told.ask(&endpoint).await;
            told
        });
    }
    streams
}

fn judge_answers(told: &[Told], findings: &mut Findings) {
    for told in told {
        for how in told.refusals.keys() {
            match how.as_str() {
                "cut" | "late" | "garbled" => findings.lose("cut", || format!("{told:?}")),
                "interrupted" => findings.count("interrupted", 1),
                "refused" => findings.count("too late to connect", 1),
                // The system had taken the connection when the service no longer took any.
                "unanswered" => findings.count("too late to ask", 1),
                _ => findings.count("other problems", 1),
            }
        }
    }
}

/// What waited is run by the other node, or has ended with the only one.
async fn judge_queue(
    store: Store,
    endpoint: &Endpoint,
    queue: &[Told],
    findings: &mut Findings,
) -> Result<()> {
    let ended = Instant::now();
    loop {
        let mut log = Log::default();
        log.read_on(endpoint).await?;
        let logged = |told: &Told| log.turns.get(&told.accepted.first()?.turn);
        let is_well = |told: &&Told| match (store, logged(told)) {
            (Store::Sqlite, Some(turn)) => turn.is_final(),
            (Store::Postgres, Some(turn)) => turn.is_completed(),
            (_, None) => false,
        };
        let waiting = queue.iter().skip(1);
        let left: Vec<_> = waiting.filter(|told| !is_well(told)).collect();
        if left.is_empty() {
            return Ok(());
        }
        if ended.elapsed() > TAKEN_OVER {
            for told in left {
                findings.lose("not taken over", || format!("{told:?}: {:?}", logged(told)));
            }
            return Ok(());
        }
        sleep(Duration::from_millis(500)).await;
    }
}
