//! `cargo xtask bench`: the speed of the service, as ratios to baselines that are measured in the
//! same run. Absolute times vary with the machine and its load; ratios do not.

#![expect(clippy::print_stdout, reason = "the terminal is its interface")]

mod access;
mod acting;
mod busy_cores;
mod chat;
mod creations;
mod environment;
mod footprint;
mod measured_server;
mod models;
mod nodes;
mod pgbench;
mod protocols;
mod read;
mod sockets;
mod workload;
mod writers;

use std::{fs, path::PathBuf, process::ExitCode, thread::available_parallelism};

use anyhow::{Context as _, Result, bail};
use clap::{Parser as _, ValueEnum};
use dev_load::{
    binaries::Binaries,
    figures::{self, Figure, Target},
};
use dev_tools::{
    process::{conclude, root},
    steps::Steps,
};
use serde_json::json;

use self::{
    busy_cores::BusyCores, chat::Workloads, environment::Environment, nodes::Bus, pgbench::Pgbench,
    workload::Workload,
};

/// The file of the figures.
const JSON: &str = "target/bench.json";

/// Measures the service against its baselines
#[derive(clap::Parser)]
#[command(name = "cargo xtask bench", bin_name = "cargo xtask bench")]
struct Options {
    /// Measure only these rows, such as S1,S2
    #[arg(long, value_delimiter = ',', ignore_case = true)]
    only: Vec<Row>,
    /// Build profile of the service; the size of the binary is judged in `release` alone
    #[arg(long, default_value = "bench-local")]
    profile: String,
    /// Measure this build of the service, such as one of another version
    #[arg(long)]
    program: Option<PathBuf>,
    /// Measure N2 and N3 also with this bus between the nodes, such as `redis://127.0.0.1:6379`
    #[arg(long)]
    bus_url: Option<String>,
    /// Instead, let 64 clients write to each store at once, and check that the log is complete
    #[arg(long, conflicts_with = "only")]
    writers: bool,
}

/// A row of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Row {
    /// Reads of an agent
    #[value(name = "S1")]
    S1,
    /// Concurrent chats on Postgres
    #[value(name = "S2")]
    S2,
    /// Concurrent chats on SQLite
    #[value(name = "S3")]
    S3,
    /// A single chat
    #[value(name = "S4")]
    S4,
    /// Concurrent chats by a language model
    #[value(name = "S5")]
    S5,
    /// Streams of a language model
    #[value(name = "S6")]
    S6,
    /// Idle sockets
    #[value(name = "S7")]
    S7,
    /// An event to all sockets
    #[value(name = "S8")]
    S8,
    /// Start, memory, size
    #[value(name = "S9")]
    S9,
    /// Long conversations
    #[value(name = "S10")]
    S10,
    /// Single chats by a language model
    #[value(name = "S11")]
    S11,
    /// Creations of agents
    #[value(name = "S12")]
    S12,
    /// S4 and S11 while all cores are busy
    #[value(name = "S13")]
    S13,
    /// Concurrent complete chats by a language model
    #[value(name = "S14")]
    S14,
    /// Concurrent streamed chats by a language model
    #[value(name = "S16")]
    S16,
    /// A round of tool calls
    #[value(name = "J3")]
    J3,
    /// Chats over the client protocols
    #[value(name = "P1")]
    P1,
    /// Events on another node
    #[value(name = "N2")]
    N2,
    /// Live replies on another node
    #[value(name = "N3")]
    N3,
    /// Access control: A1 to A6
    #[value(name = "A")]
    A,
}

impl Options {
    fn wants(&self, row: Row) -> bool {
        self.only.is_empty() || self.only.contains(&row)
    }

    fn buses(&self) -> Vec<Bus> {
        let server = self.bus_url.clone().map(Bus::Server);
        std::iter::once(Bus::Postgres).chain(server).collect()
    }
}

fn main() -> ExitCode {
    conclude(run(&Options::parse()))
}

/// Builds the programs, measures, prints a table and writes JSON. A missed target is no failure.
fn run(options: &Options) -> Result<()> {
    if cfg!(debug_assertions) {
        bail!("an unoptimised build takes the processor from the service; use `cargo xtask bench`");
    }
    let mut steps = Steps::default();
    let binaries = steps.run("build", || {
        Binaries::build(&options.profile, options.program.clone())
    })?;
    let mut environment = steps.run("start", || Environment::start(binaries))?;
    if options.writers {
        steps.run("64 writers on SQLite", || {
            writers::check(&environment.sqlite.endpoint()?)
        })?;
        return steps.run("64 writers on Postgres", || {
            writers::check(&environment.postgres.endpoint()?)
        });
    }
    let load_before = load_average();
    let figures = measure(options, &mut environment, &mut steps)?;
    steps.print_summary();
    figures::print(&figures);
    write(options, &figures, &load_before)
}

fn measure(
    options: &Options,
    environment: &mut Environment,
    steps: &mut Steps,
) -> Result<Vec<Figure>> {
    let (sqlite, postgres) = steps.run("conversations", || {
        let on_sqlite = Workload::prepare(environment.sqlite.endpoint()?)?;
        Ok((
            on_sqlite,
            Workload::prepare(environment.postgres.endpoint()?)?,
        ))
    })?;
    let workloads = Workloads {
        sqlite: &sqlite,
        postgres: &postgres,
    };
    let wanted = |row| options.wants(row);
    let mut figures = Vec::new();
    if wanted(Row::S1) {
        figures.push(steps.run("S1", || read::measure(environment, &sqlite))?);
    }
    figures.extend(measure_writes(environment, steps, &workloads, wanted)?);
    figures.extend(models::measure(environment, steps, wanted)?);
    if wanted(Row::J3) {
        figures.extend(steps.run("J3", || acting::measure(environment))?);
    }
    if wanted(Row::P1) {
        figures.extend(steps.run("P1", || protocols::measure(environment, &sqlite))?);
    }
    if wanted(Row::S7) || wanted(Row::S8) {
        figures.extend(steps.run("S7, S8", || sockets::measure(environment, wanted))?);
    }
    figures.extend(nodes::measure(
        environment,
        steps,
        &options.buses(),
        wanted,
    )?);
    if wanted(Row::A) {
        figures.extend(access::measure(environment, &sqlite, steps)?);
    }
    // The last row, since it kills and restarts the service.
    if wanted(Row::S9) {
        let measured = steps.run("S9", || {
            footprint::measure(environment, &workloads, &options.profile)
        });
        figures.extend(measured?);
    }
    Ok(figures)
}

/// Measures writes beside `pgbench`: single ones first, since load changes the plans that the
/// database server has prepared.
fn measure_writes(
    environment: &Environment,
    steps: &mut Steps,
    workloads: &Workloads<'_>,
    wanted: impl Fn(Row) -> bool + Copy,
) -> Result<Vec<Figure>> {
    let mut figures = Vec::new();
    let rows = [Row::S2, Row::S3, Row::S4, Row::S12, Row::S13];
    if !rows.into_iter().any(wanted) {
        return Ok(figures);
    }
    let pgbench = steps.run("pgbench", || Pgbench::prepare(environment))?;
    if wanted(Row::S4) {
        let name = "chat by rules on Postgres ÷ pgbench, medians, 1 connection";
        let target = Target::AtMost(1.3);
        figures.push(steps.run("S4", || {
            chat::measure_single(("S4", name), target, environment, workloads, &pgbench)
        })?);
    }
    if wanted(Row::S13) {
        let name = "S4 with all cores busy at low priority";
        let target = Target::AtMost(1.3);
        figures.push(steps.run("S13", || {
            let _busy = BusyCores::start()?;
            chat::measure_single(("S13", name), target, environment, workloads, &pgbench)
        })?);
    }
    if wanted(Row::S2) || wanted(Row::S3) {
        figures.extend(steps.run("S2, S3", || {
            chat::measure_many(environment, workloads, &pgbench, wanted)
        })?);
    }
    if wanted(Row::S12) {
        figures.push(steps.run("S12", || creations::measure(environment, &pgbench))?);
    }
    Ok(figures)
}

/// The load average of the machine: other processes affect the figures.
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
