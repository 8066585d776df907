//! F2: Postgres is stopped, or held still, and comes back.

use std::{thread, time::Duration};

use anyhow::Result;
use tokio::{task::JoinSet, time::Instant};

use super::{
    audit,
    chance::Chance,
    chat::{Chat, Form, Pace, Speaker},
    chats::{Chats, PERSISTENCE},
    findings::Findings,
    ground::{Cast, Ground, Store},
    memory::Watch,
    probes::{self, Away},
    told::{Deadline, Nodes, Told},
};

/// How long the store is away.
const AWAY: Duration = Duration::from_secs(10);
/// How long chats go on before the store goes and after it has come back.
const AROUND: Duration = Duration::from_secs(8);
/// Between two chats.
const BETWEEN: Duration = Duration::from_millis(20);
/// How much more memory may be taken meanwhile and afterwards.
const FLAT: f64 = 1.2;
/// Clients that wait at once while the store is there, so that the memory before is that of as many
/// as wait while it is away: 60 come in a second, wait for 5 s, and half of them come again.
const CROWD: usize = 450;
/// Turns that are under way when the store goes, by the seconds that they take: some end before it
/// is back, and some after.
const LONG: [usize; 6] = [3, 5, 7, 9, 12, 15];

/// How the store goes away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum How {
    /// It is stopped and started again.
    Stopped,
    /// None of its processes does anything (`SIGSTOP`).
    Frozen,
}

/// Takes the store away under load, and gives it back.
pub(super) async fn run(ground: &Ground, how: How) -> Result<Findings> {
    let (name, what) = match how {
        How::Stopped => ("store_stopped", "stopped for 10 s and started again"),
        How::Frozen => ("store_frozen", "held still for 10 s (SIGSTOP)"),
    };
    let mut findings = Findings::of("F2", format!("Postgres {what}, under 50 chats/s"));
    findings.expect_none(&["interrupted", "other errors", "not refused"]);
    let (service, cast) = ground.start(Store::Postgres, name).await?;
    let endpoint = service.endpoint()?;
    let nodes = Nodes::default();
    nodes.are(vec![endpoint.clone()]);
    let memory = Watch::over(service.id()?);
    let chance = Chance::new(ground.seed);
    let mut chats = Chats::prepare(&endpoint, &cast, name.to_owned(), chance).await?;
    chats.between = BETWEEN;
    let mut asking = JoinSet::new();
    let crowd = (0..CROWD).map(|number| slow(&cast, &format!("{name}-crowd-{number:04}"), 5));
    for chat in crowd {
        asking.spawn(persist(Told::nothing(chat), &nodes));
    }
    chats.go_on(&nodes, AROUND, &mut asking).await;
    let before = memory.take_highest();

    let long = long_turns(&cast, name, &nodes);
    let mut load = JoinSet::new();
    load.spawn(async move {
        chats.go_on(&nodes, AWAY + AROUND, &mut asking).await;
        asking.join_all().await
    });
    let probing = probes::begin(&endpoint, &cast.rules, name, AWAY + AROUND);
    // The load goes on beside this, on threads of its own.
    thread::sleep(Duration::from_secs(1));
    let away = take_away(ground, how)?;
    let meanwhile = memory.take_highest();
    let probes: Vec<_> = probing.join_all().await.into_iter().flatten().collect();
    away.judge(&probes, &mut findings);
    let mut told: Vec<Told> = load.join_all().await.into_iter().flatten().collect();
    let afterwards = memory.take_highest();
    findings.tell("resident before", before, "MiB");
    findings.bound("resident meanwhile", meanwhile, "MiB", before * FLAT);
    findings.bound("resident afterwards", afterwards, "MiB", before * FLAT);

    let long = long.join_all().await;
    for told in long.iter().filter(|told| told.attempts != 2) {
        findings.lose("interrupted", || format!("{told:?}"));
    }
    told.extend(long);
    audit::run(&endpoint, &told, &mut findings).await?;
    Ok(findings)
}

/// Begins turns that take their time. Whoever asked for one then waits for its end.
fn long_turns(cast: &Cast, name: &str, nodes: &Nodes) -> JoinSet<Told> {
    let mut long = JoinSet::new();
    for seconds in LONG {
        let chat = slow(cast, &format!("{name}-long-{seconds:02}"), seconds);
        let form = Form::Turn;
        long.spawn(persist(Told::nothing(Chat { form, ..chat }), nodes));
    }
    long
}

/// A chat that takes so many seconds, which are at least three.
fn slow(cast: &Cast, tag: &str, seconds: usize) -> Chat {
    let pace = Pace {
        first: Duration::from_secs(1),
        between: Duration::from_secs(1),
        more: seconds - 3,
    };
    Chat {
        speaker: Speaker::Scripted(cast.scripted.clone(), pace),
        conversation: None,
        key: Some(format!("key-{tag}")),
        form: Form::Whole,
        tag: tag.to_owned(),
    }
}

fn persist(told: Told, nodes: &Nodes) -> impl Future<Output = Told> + use<> {
    let deadline = Deadline {
        number: 0,
        at: Instant::now() + PERSISTENCE,
    };
    told.ask_until_replied(nodes.clone(), deadline)
}

/// Takes the store away for ten seconds.
fn take_away(ground: &Ground, how: How) -> Result<Away> {
    let server = ground.server()?;
    let (gone, returning) = match how {
        How::Stopped => {
            server.stop()?;
            let gone = Instant::now();
            thread::sleep(AWAY);
            let returning = Instant::now();
            server.start_again()?;
            (gone, returning)
        }
        How::Frozen => {
            let frozen = server.freeze()?;
            let gone = Instant::now();
            thread::sleep(AWAY);
            let returning = Instant::now();
            drop(frozen);
            (gone, returning)
        }
    };
    Ok(Away {
        gone,
        returning,
        back: Instant::now(),
        is_total: true,
    })
}
