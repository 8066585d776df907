//! S10, in part: the cost of a chat in a conversation with a long history. The first chat, in the
//! warm-up, reads the part that the engine receives; later chats find it in memory.

use std::{fs, thread, time::Duration};

use anyhow::{Context as _, Result, anyhow};
use dev_load::{
    generator::{self, Round, Script},
    latencies::median,
    service::Service,
};

use super::measure::{LlmServices, draft};
use crate::{
    environment::Environment,
    figures::{Figure, Part, Target},
    measured_server::{ROUNDS, WARM_UP, ratio},
    workload::Workload,
};

/// The numbers of earlier messages.
const LENGTHS: [usize; 3] = [10, 1_000, 100_000];
/// The length of a round; short, so that short conversations stay short.
const ROUND_DURATION: Duration = Duration::from_millis(1_500);
/// The delay of Postgres' statistics.
const COUNTED: Duration = Duration::from_millis(1_500);
/// The number of conversations of the smallest length, so that each stays short.
const SHORT: usize = 1_000;

/// Measures chats in conversations of several lengths, in turns.
pub(super) fn measure(environment: &Environment, services: &LlmServices) -> Result<Vec<Figure>> {
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
    // Filling takes longest, so both stores are filled at once; then each is measured alone.
    let (on_sqlite, on_postgres) = thread::scope(|scope| {
        let on_sqlite = scope.spawn(|| filled(&services.sqlite));
        let on_postgres = filled(&services.postgres);
        (on_sqlite.join(), on_postgres)
    });
    let on_sqlite = on_sqlite.map_err(|_panic| anyhow!("filling SQLite panicked"))?;
    let sqlite = || read_by(&services.sqlite);
    let postgres = || read_in(environment, "models_instant");
    Ok(vec![
        on(&services.sqlite, on_sqlite?, rows[0], sqlite)?,
        on(&services.postgres, on_postgres?, rows[1], postgres)?,
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
        let workload = Workload::with_history(endpoint, &draft()["config"], number, messages)?;
        Ok(Length {
            messages,
            scripts: workload.chat_scripts(1)?,
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
        generator::run(endpoint.address, &length.scripts, WARM_UP / 4)?;
    }
    for _ in 0..ROUNDS {
        for length in &mut lengths {
            let before = bytes()?;
            let round = generator::run(endpoint.address, &length.scripts, ROUND_DURATION)?;
            let read = (bytes()? - before) / 1_024.0;
            length.kibibytes.push(read / round.responses);
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

/// Returns the bytes that a process has read from files, cached or not.
fn read_by(service: &Service) -> Result<f64> {
    let path = format!("/proc/{}/io", service.id()?);
    let io = fs::read_to_string(&path).with_context(|| format!("cannot read {path}"))?;
    let bytes = io.lines().find_map(|line| line.strip_prefix("rchar: "));
    let bytes = bytes.and_then(|bytes| bytes.parse().ok());
    bytes.with_context(|| format!("{path} has another form"))
}

/// Returns the bytes of pages that Postgres has read in a database, cached or not.
fn read_in(environment: &Environment, database: &str) -> Result<f64> {
    thread::sleep(COUNTED);
    let statement = format!(
        "select (blks_hit + blks_read) * 8192 from pg_stat_database where datname = '{database}'"
    );
    let printed = environment.server.sql(database, &statement)?;
    let bytes = printed.lines().find_map(|line| line.trim().parse().ok());
    bytes.with_context(|| format!("no number: {printed}"))
}
