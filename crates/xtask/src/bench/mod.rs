//! `cargo xtask bench`: how fast the service is, as ratios to what it is held against in the same
//! run. Absolute times drift with the machine and its other users; ratios do not.

mod access;
mod chatting;
mod figures;
mod footprint;
mod models;
mod pgbench;
mod reading;
mod rounds;
mod sockets;
mod stage;
mod talk;
mod writers;

use std::{fs, thread::available_parallelism};

use anyhow::{Context as _, Result};
use clap::ValueEnum;
use serde_json::json;

use self::{chatting::Talks, figures::Figure, pgbench::Pgbench, stage::Stage, talk::Talk};
use crate::{
    process::root,
    rig::binaries::{self, Binaries},
    steps::Steps,
};

/// Where the figures are written.
const JSON: &str = "target/bench.json";

/// What to measure.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Only these rows, such as S1,S2
    #[arg(long, value_delimiter = ',', ignore_case = true)]
    only: Vec<Row>,
    /// The build profile of what is measured; the size of the binary is judged in `release` alone
    #[arg(long, default_value = "bench-local")]
    profile: String,
    /// Instead, let 64 clients write to each store at once, and check that the log is whole
    #[arg(long, conflicts_with = "only")]
    writers: bool,
}

/// A row of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Row {
    /// Reading an agent
    #[value(name = "S1")]
    S1,
    /// Many chats on Postgres
    #[value(name = "S2")]
    S2,
    /// Many chats on SQLite
    #[value(name = "S3")]
    S3,
    /// A single chat
    #[value(name = "S4")]
    S4,
    /// Many chats by a language model
    #[value(name = "S5")]
    S5,
    /// Streams of a language model
    #[value(name = "S6")]
    S6,
    /// Idle sockets
    #[value(name = "S7")]
    S7,
    /// An event for all sockets
    #[value(name = "S8")]
    S8,
    /// Start, memory, size
    #[value(name = "S9")]
    S9,
    /// Long conversations
    #[value(name = "S10")]
    S10,
    /// What access costs: A1 to A6
    #[value(name = "A")]
    A,
}

impl Options {
    fn wants(&self, row: Row) -> bool {
        self.only.is_empty() || self.only.contains(&row)
    }
}

/// Builds everything, measures, prints a table and writes JSON. A missed target is no failure.
pub(crate) fn run(options: &Options) -> Result<()> {
    if cfg!(debug_assertions) {
        return binaries::run_optimised();
    }
    let mut steps = Steps::default();
    let binaries = steps.take("build", || Binaries::build(&options.profile))?;
    let mut stage = steps.take("start", || Stage::set(binaries))?;
    if options.writers {
        steps.take("64 writers on SQLite", || {
            writers::check(&stage.sqlite.endpoint()?)
        })?;
        return steps.take("64 writers on Postgres", || {
            writers::check(&stage.postgres.endpoint()?)
        });
    }
    let load_before = load_average();
    let figures = measure(options, &mut stage, &mut steps)?;
    steps.print_summary();
    figures::print(&figures);
    write(options, &figures, &load_before)
}

fn measure(options: &Options, stage: &mut Stage, steps: &mut Steps) -> Result<Vec<Figure>> {
    let (sqlite, postgres) = steps.take("conversations", || {
        let on_sqlite = Talk::prepare(stage.sqlite.endpoint()?)?;
        Ok((on_sqlite, Talk::prepare(stage.postgres.endpoint()?)?))
    })?;
    let talks = Talks {
        sqlite: &sqlite,
        postgres: &postgres,
    };
    let wanted = |row| options.wants(row);
    let mut figures = Vec::new();
    if wanted(Row::S1) {
        figures.push(steps.take("S1", || reading::measure(stage, &sqlite))?);
    }
    if [Row::S2, Row::S3, Row::S4].into_iter().any(wanted) {
        let pgbench = steps.take("pgbench", || Pgbench::prepare(stage))?;
        if wanted(Row::S2) || wanted(Row::S3) {
            figures.extend(steps.take("S2, S3", || {
                chatting::measure_many(stage, &talks, &pgbench, wanted)
            })?);
        }
        if wanted(Row::S4) {
            figures.push(steps.take("S4", || chatting::measure_single(stage, &talks, &pgbench))?);
        }
    }
    if [Row::S5, Row::S6, Row::S10].into_iter().any(wanted) {
        figures.extend(models::measure(stage, steps, wanted)?);
    }
    if wanted(Row::S7) || wanted(Row::S8) {
        figures.extend(steps.take("S7, S8", || sockets::measure(stage, wanted))?);
    }
    if wanted(Row::A) {
        figures.extend(access::measure(stage, &sqlite, steps)?);
    }
    // The last, since it kills and starts the service.
    if wanted(Row::S9) {
        let measured = steps.take("S9", || footprint::measure(stage, &talks, &options.profile));
        figures.extend(measured?);
    }
    Ok(figures)
}

/// How busy the machine is, as far as it tells: others' work shows in the figures.
fn load_average() -> String {
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let first_three: Vec<&str> = text.split_whitespace().take(3).collect();
    first_three.join(" ")
}

fn write(options: &Options, figures: &[Figure], load_before: &str) -> Result<()> {
    let cores = available_parallelism().map_or(1, usize::from);
    println!("\n{cores} cores, load average before: {load_before}; wrote {JSON}");
    let document = json!({
        "profile": options.profile,
        "cores": cores,
        "loadAverageBefore": load_before,
        "figures": figures,
    });
    let text = serde_json::to_string_pretty(&document)?;
    let path = root().join(JSON);
    fs::create_dir_all(path.with_file_name(""))
        .and_then(|()| fs::write(&path, text))
        .with_context(|| format!("cannot write {JSON}"))
}
