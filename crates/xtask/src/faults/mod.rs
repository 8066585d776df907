//! `cargo xtask faults`: breaks the service in all the ways in which it will be broken one day, for
//! real and under load, and counts what was lost. Nothing may be.

mod audit;
mod chance;
mod chat;
mod chats;
mod cycles;
mod descriptors;
mod disk_full;
mod events;
mod findings;
mod gone;
mod ground;
mod kill;
mod log;
mod memory;
mod models;
mod offence;
mod offenders;
mod others;
mod probes;
mod resume;
mod store_away;
mod tenants;
mod terminate;
mod told;

use std::path::PathBuf;

use anyhow::{Context as _, Result};
use clap::ValueEnum;
use tokio::runtime::{Builder, Runtime};

use self::{
    findings::Findings,
    ground::{Ground, Store},
    store_away::How,
};
use crate::{rig::binaries, steps::Steps};

/// What to break.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Only these faults, such as F1,F2
    #[arg(long, value_delimiter = ',', ignore_case = true)]
    only: Vec<Fault>,
    /// Only on SQLite
    #[arg(long, conflicts_with = "postgres")]
    sqlite: bool,
    /// Only on Postgres
    #[arg(long)]
    postgres: bool,
    /// How often the process is killed on each store
    #[arg(long, default_value_t = 10)]
    kills: usize,
    /// How many sockets come and go
    #[arg(long, default_value_t = 20_000)]
    cycles: usize,
    /// Where chance begins: the same number brings the same chats
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The build profile of what is broken
    #[arg(long, default_value = "bench-local")]
    profile: String,
    /// Break this build of the example `scripted_service` instead of a new one
    #[arg(long)]
    program: Option<PathBuf>,
}

/// A way to break something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Fault {
    /// The process is killed
    #[value(name = "F1")]
    F1,
    /// Postgres goes away
    #[value(name = "F2")]
    F2,
    /// SQLite's disk is full
    #[value(name = "F3")]
    F3,
    /// Servers of language models break
    #[value(name = "F4")]
    F4,
    /// Clients do what should not be done
    #[value(name = "F5")]
    F5,
    /// The client goes away
    #[value(name = "F6")]
    F6,
    /// The process is asked to end
    #[value(name = "F7")]
    F7,
    /// Sockets come and go
    #[value(name = "F8")]
    F8,
    /// One tenant harms another
    #[value(name = "F9")]
    F9,
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

/// Builds the service, breaks it, prints a table and writes JSON; fails if anything was lost.
pub(crate) fn run(options: &Options) -> Result<()> {
    if cfg!(debug_assertions) {
        return binaries::run_optimised();
    }
    let mut steps = Steps::default();
    // Its engine takes the time that a test gives it; all else is what is shipped.
    let program = steps.take("build", || match &options.program {
        Some(program) => Ok(program.clone()),
        None => binaries::build(
            &options.profile,
            "agent-service",
            "--example",
            "scripted_service",
        ),
    })?;
    let with_postgres = options.stores().any(|store| store == Store::Postgres);
    let ground = steps.take("start", || {
        Ground::new(program, with_postgres, options.seed)
    })?;
    let all = break_all(options, &ground, &mut steps)?;
    steps.print_summary();
    findings::print(&all);
    findings::write(&all)?;
    findings::judge(&all)
}

fn break_all(options: &Options, ground: &Ground, steps: &mut Steps) -> Result<Vec<Findings>> {
    let runtime = runtime()?;
    let mut all = Vec::new();
    if options.wants(Fault::F1) {
        all.extend(steps.take("F1", || kill_all(options, ground, &runtime))?);
    }
    if options.wants(Fault::F2) && options.stores().any(|store| store == Store::Postgres) {
        for how in [How::Stopped, How::Frozen] {
            all.push(steps.take("F2", || runtime.block_on(store_away::run(ground, how)))?);
        }
    }
    if options.wants(Fault::F3) && options.stores().any(|store| store == Store::Sqlite) {
        all.push(steps.take("F3", || runtime.block_on(disk_full::run(ground)))?);
    }
    for store in options.stores() {
        if options.wants(Fault::F4) {
            all.extend(steps.take("F4", || runtime.block_on(models::run(ground, store)))?);
        }
        if options.wants(Fault::F5) {
            all.extend(steps.take("F5", || runtime.block_on(offenders::run(ground, store)))?);
        }
        if options.wants(Fault::F6) {
            all.push(steps.take("F6", || runtime.block_on(gone::run(ground, store)))?);
        }
        if options.wants(Fault::F7) {
            all.push(steps.take("F7", || runtime.block_on(terminate::run(ground, store)))?);
        }
        if options.wants(Fault::F9) {
            all.extend(steps.take("F9", || runtime.block_on(tenants::run(ground, store)))?);
        }
        if options.wants(Fault::Resume) {
            all.push(steps.take("resume", || runtime.block_on(resume::run(ground, store)))?);
        }
        if options.wants(Fault::F8) {
            let cycles = cycles::run(ground, store, options.cycles);
            all.push(steps.take("F8", || runtime.block_on(cycles))?);
        }
    }
    Ok(all)
}

fn kill_all(options: &Options, ground: &Ground, runtime: &Runtime) -> Result<Vec<Findings>> {
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
            let run = kill::run(ground, store, with_second, kills);
            all.push(runtime.block_on(run)?);
        }
    }
    Ok(all)
}

/// Several threads: starting and killing processes blocks one of them.
fn runtime() -> Result<Runtime> {
    let built = Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build();
    built.context("cannot start a runtime")
}
