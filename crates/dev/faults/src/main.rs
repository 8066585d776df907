//! `cargo xtask faults`: injects faults into the service under load and counts losses. None may
//! happen.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "the terminal is its interface"
)]

mod acknowledgements;
mod audit;
mod bystanders;
mod chat;
mod chat_load;
mod disconnects;
mod disk_full;
mod environment;
mod event_log;
mod event_stream;
mod goodbye;
mod kill;
mod memory;
mod misbehaving_clients;
mod misbehaviour;
mod models;
mod nodes;
mod probes;
mod random;
mod report;
mod resume;
mod socket_churn;
mod store_outage;
mod tenants;
mod terminate;

use std::{path::PathBuf, process::ExitCode};

use anyhow::{Context as _, Result, bail};
use clap::{Parser as _, ValueEnum};
use dev_load::binaries;
use dev_tools::{process::exit_code_of, steps::Steps};
use tokio::runtime::{Builder, Runtime};

use self::{
    environment::{Environment, Store},
    nodes::BusFault,
    report::Report,
    store_outage::OutageKind,
};

/// Injects faults into the service under load, and counts losses
#[derive(clap::Parser)]
#[command(name = "cargo xtask faults", bin_name = "cargo xtask faults")]
struct Options {
    /// Inject only these faults, such as F1,F2
    #[arg(long, value_delimiter = ',', ignore_case = true)]
    only: Vec<Fault>,
    /// Only on SQLite
    #[arg(long, conflicts_with = "postgres")]
    sqlite: bool,
    /// Only on Postgres
    #[arg(long)]
    postgres: bool,
    /// Number of kills on each store
    #[arg(long, default_value_t = 10)]
    kills: usize,
    /// Number of kills of one of several nodes
    #[arg(long, default_value_t = 4)]
    node_kills: usize,
    /// Number of sockets that are opened and closed
    #[arg(long, default_value_t = 20_000)]
    cycles: usize,
    /// Seed of the random numbers: the same seed gives the same chats
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Build profile of the service
    #[arg(long, default_value = "bench-local")]
    profile: String,
    /// Use this build of the example `scripted_service` instead of building it
    #[arg(long)]
    program: Option<PathBuf>,
    /// Replace the nodes of N7 by this build of `scripted_service`, as of another version
    #[arg(long)]
    other_program: Option<PathBuf>,
}

/// A fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Fault {
    /// The process is killed
    #[value(name = "F1")]
    F1,
    /// Postgres is stopped or frozen
    #[value(name = "F2")]
    F2,
    /// SQLite's disk is full
    #[value(name = "F3")]
    F3,
    /// Language model servers fail
    #[value(name = "F4")]
    F4,
    /// Clients misbehave
    #[value(name = "F5")]
    F5,
    /// Clients disconnect
    #[value(name = "F6")]
    F6,
    /// The process receives SIGTERM
    #[value(name = "F7")]
    F7,
    /// Sockets are opened and closed
    #[value(name = "F8")]
    F8,
    /// A hostile tenant floods the service
    #[value(name = "F9")]
    F9,
    /// One of several nodes is killed
    #[value(name = "N1")]
    N1,
    /// A key exceeds its limit on several nodes
    #[value(name = "N4")]
    N4,
    /// A key is revoked on another node
    #[value(name = "N5")]
    N5,
    /// A node is cut off from the bus, or from the store
    #[value(name = "N6")]
    N6,
    /// All nodes are replaced
    #[value(name = "N7")]
    N7,
    /// Clients lose their sockets and resume
    #[value(name = "resume")]
    Resume,
}

impl Options {
    fn wants(&self, fault: Fault) -> bool {
        self.only.is_empty() || self.only.contains(&fault)
    }

    fn stores(&self) -> impl Iterator<Item = Store> + use<> {
        let (sqlite, postgres) = (!self.postgres, !self.sqlite);
        let stores = [(Store::Sqlite, sqlite), (Store::Postgres, postgres)];
        stores
            .into_iter()
            .filter_map(|(store, wanted)| wanted.then_some(store))
    }
}

fn main() -> ExitCode {
    match run(&Options::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("\nerror: {error:#}");
            exit_code_of(&error)
        }
    }
}

/// Builds the service, injects the faults, prints a table and writes JSON; fails on any loss.
fn run(options: &Options) -> Result<()> {
    if cfg!(debug_assertions) {
        bail!(
            "an unoptimised build takes the processor from the service; use `cargo xtask faults`"
        );
    }
    let mut steps = Steps::default();
    // The released service, with an engine whose timing a test controls.
    let program = steps.run("build", || match &options.program {
        Some(program) => Ok(program.clone()),
        None => binaries::build(
            &options.profile,
            "agent-service",
            "--example",
            "scripted_service",
        ),
    })?;
    let with_postgres = options.stores().any(|store| store == Store::Postgres);
    let environment = steps.run("start", || {
        Environment::new(program, with_postgres, options.seed)
    })?;
    let all = inject_all(options, &environment, &mut steps)?;
    steps.print_summary();
    report::print(&all);
    report::write(&all)?;
    report::judge(&all)
}

fn inject_all(
    options: &Options,
    environment: &Environment,
    steps: &mut Steps,
) -> Result<Vec<Report>> {
    let runtime = runtime()?;
    let mut all = Vec::new();
    if options.wants(Fault::F1) {
        all.extend(steps.run("F1", || kill_all(options, environment, &runtime))?);
    }
    if options.wants(Fault::F2) && options.stores().any(|store| store == Store::Postgres) {
        for kind in [OutageKind::Stopped, OutageKind::Frozen] {
            all.push(steps.run("F2", || {
                runtime.block_on(store_outage::run(environment, kind))
            })?);
        }
    }
    if options.wants(Fault::F3) && options.stores().any(|store| store == Store::Sqlite) {
        all.push(steps.run("F3", || runtime.block_on(disk_full::run(environment)))?);
    }
    for store in options.stores() {
        if options.wants(Fault::F4) {
            all.extend(steps.run("F4", || runtime.block_on(models::run(environment, store)))?);
        }
        if options.wants(Fault::F5) {
            all.extend(steps.run("F5", || {
                runtime.block_on(misbehaving_clients::run(environment, store))
            })?);
        }
        if options.wants(Fault::F6) {
            all.push(steps.run("F6", || {
                runtime.block_on(disconnects::run(environment, store))
            })?);
        }
        if options.wants(Fault::F7) {
            all.push(steps.run("F7", || {
                runtime.block_on(terminate::run(environment, store))
            })?);
        }
        if options.wants(Fault::F9) {
            all.extend(steps.run("F9", || runtime.block_on(tenants::run(environment, store)))?);
        }
        if options.wants(Fault::Resume) {
            all.push(steps.run("resume", || {
                runtime.block_on(resume::run(environment, store))
            })?);
        }
        if options.wants(Fault::F8) {
            let cycles = socket_churn::run(environment, store, options.cycles);
            all.push(steps.run("F8", || runtime.block_on(cycles))?);
        }
    }
    if options.stores().any(|store| store == Store::Postgres) {
        all.extend(inject_between_nodes(options, environment, steps, &runtime)?);
    }
    Ok(all)
}

/// The faults of several nodes, on Postgres.
fn inject_between_nodes(
    options: &Options,
    environment: &Environment,
    steps: &mut Steps,
    runtime: &Runtime,
) -> Result<Vec<Report>> {
    let mut all = Vec::new();
    if options.wants(Fault::N1) {
        let kills = nodes::kill(environment, options.node_kills);
        all.push(steps.run("N1", || runtime.block_on(kills))?);
    }
    if options.wants(Fault::N4) {
        let limits = nodes::exceed_limits(environment);
        all.push(steps.run("N4", || runtime.block_on(limits))?);
    }
    if options.wants(Fault::N5) {
        for with_bus in [true, false] {
            let revoked = nodes::revoke(environment, with_bus);
            all.push(steps.run("N5", || runtime.block_on(revoked))?);
        }
    }
    if options.wants(Fault::N6) {
        for fault in BusFault::ALL {
            let injected = nodes::run_bus_fault(environment, fault);
            all.push(steps.run("N6", || runtime.block_on(injected))?);
        }
    }
    if options.wants(Fault::N7) {
        let upgrade = nodes::upgrade(environment, options.other_program.clone());
        all.push(steps.run("N7", || runtime.block_on(upgrade))?);
    }
    Ok(all)
}

fn kill_all(
    options: &Options,
    environment: &Environment,
    runtime: &Runtime,
) -> Result<Vec<Report>> {
    let mut all = Vec::new();
    for store in options.stores() {
        let halves = match store {
            Store::Sqlite => vec![(options.kills, false)],
            Store::Postgres => {
                let second = options.kills / 2;
                vec![(options.kills - second, false), (second, true)]
            }
        };
        for (kills, with_second) in halves {
            let run = kill::run(environment, store, with_second, kills);
            all.push(runtime.block_on(run)?);
        }
    }
    Ok(all)
}

/// Two threads: starting and killing processes blocks one of them.
fn runtime() -> Result<Runtime> {
    let built = Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build();
    built.context("cannot start a runtime")
}
