//! A part of S10: what a chat costs in a conversation in which much was said before. The first chat
//! reads of it what the engine is shown, the warm-up; those behind it have that in memory.

use std::{fs, thread, time::Duration};

use anyhow::{Context as _, Result, anyhow};

use super::measure::{Asking, draft};
use crate::{
    bench::{
        figures::{Figure, Part, Target},
        rounds::{ROUNDS, WARM_UP, ratio},
        stage::Stage,
        talk::Talk,
    },
    rig::{
        load::{self, Round, Script, median},
        service::Service,
    },
};

/// Messages that were said before.
const LENGTHS: [usize; 3] = [10, 1_000, 100_000];
/// How long a turn is; short, or the short conversation would be one no longer.
const TURN: Duration = Duration::from_millis(1_500);
/// After this time the server's own counts are told.
const COUNTED: Duration = Duration::from_millis(1_500);
/// Conversations of the least length, so that each stays short.
const SHORT: usize = 1_000;

/// Chats in conversations of several lengths, in turns.
pub(super) fn measure(stage: &Stage, asking: &Asking) -> Result<Vec<Figure>> {
    let rows = [
        (
            "S10",
            "chat after 100,000 messages ÷ after 10, medians, SQLite",
        ),
        (
            "S10",
            "chat after 100,000 messages ÷ after 10, medians, Postgres",
        ),
    ];
    // Filling takes longest, so both are filled at once; then each is measured by itself.
    let (on_sqlite, on_postgres) = thread::scope(|scope| {
        let on_sqlite = scope.spawn(|| filled(&asking.sqlite));
        let on_postgres = filled(&asking.postgres);
        (on_sqlite.join(), on_postgres)
    });
    let on_sqlite = on_sqlite.map_err(|_panic| anyhow!("filling SQLite panicked"))?;
    let sqlite = || read_by(&asking.sqlite);
    let postgres = || read_in(stage, "models_instant");
    Ok(vec![
        on(&asking.sqlite, on_sqlite?, rows[0], sqlite)?,
        on(&asking.postgres, on_postgres?, rows[1], postgres)?,
    ])
}

/// Chats in conversations of one length.
struct Length {
    messages: usize,
    scripts: Vec<Script>,
    rounds: Vec<Round>,
    kibibytes: Vec<f64>,
}

fn filled(service: &Service) -> Result<Vec<Length>> {
    let length = |messages| {
        let number = if messages == LENGTHS[0] { SHORT } else { 1 };
        let endpoint = service.endpoint()?;
        let talk = Talk::long(endpoint, &draft()["config"], number, messages)?;
        Ok(Length {
            messages,
            scripts: talk.chatting(1)?,
            rounds: Vec::new(),
            kibibytes: Vec::new(),
        })
    };
    LENGTHS.into_iter().map(length).collect()
}

fn on(
    service: &Service,
    mut lengths: Vec<Length>,
    row: (&'static str, &'static str),
    bytes: impl Fn() -> Result<f64>,
) -> Result<Figure> {
    let endpoint = service.endpoint()?;
    for length in &lengths {
        load::run(endpoint.address, &length.scripts, WARM_UP / 4)?;
    }
    for _ in 0..ROUNDS {
        for length in &mut lengths {
            let before = bytes()?;
            let round = load::run(endpoint.address, &length.scripts, TURN)?;
            let read = (bytes()? - before) / 1_024.0;
            length.kibibytes.push(read / round.answers);
            length.rounds.push(round);
        }
    }
    let medians = |length: &Length| -> Vec<f64> {
        let rounds = length.rounds.iter();
        rounds.map(|round| round.latencies.percentile(50)).collect()
    };
    let mut parts = Vec::new();
    for length in &lengths {
        let after = format!("after {} messages", length.messages);
        parts.push(Part::new(&*after, median(medians(length)), "ms"));
        let read = median(length.kibibytes.clone());
        parts.push(Part::new(format!("{after}, read"), read, "KiB"));
    }
    let [short, .., long] = lengths.as_slice() else {
        unreachable!("there are several lengths");
    };
    let value = ratio(&medians(long), &medians(short));
    Ok(Figure::new(row, Target::AtMost(1.3), value, "×", parts))
}

/// Bytes that a process has read from files, from memory or not.
fn read_by(service: &Service) -> Result<f64> {
    let path = format!("/proc/{}/io", service.id()?);
    let io = fs::read_to_string(&path).with_context(|| format!("cannot read {path}"))?;
    let bytes = io.lines().find_map(|line| line.strip_prefix("rchar: "));
    let bytes = bytes.and_then(|bytes| bytes.parse().ok());
    bytes.with_context(|| format!("{path} has another form"))
}

/// Bytes of pages that the server has looked at in a database, from memory or not.
fn read_in(stage: &Stage, database: &str) -> Result<f64> {
    thread::sleep(COUNTED);
    let statement = format!(
        "select (blks_hit + blks_read) * 8192 from pg_stat_database where datname = '{database}'"
    );
    let printed = stage.server.sql(database, &statement)?;
    let bytes = printed.lines().find_map(|line| line.trim().parse().ok());
    bytes.with_context(|| format!("no number: {printed}"))
}
