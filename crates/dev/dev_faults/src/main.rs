//! `cargo xtask faults`: injects faults into the service under load and counts losses. None may
//! happen.

#![expect(clippy::print_stdout, reason = "the terminal is its interface")]

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
mod journal;
mod kill;
mod memory;
mod misbehaving_clients;
mod misbehaviour;
mod models;
mod nodes;
mod options;
mod probes;
mod random;
mod report;
mod resume;
mod socket_churn;
mod store_outage;
mod tenants;
mod terminate;
mod waiting;

use std::process::ExitCode;

use anyhow::{Context as _, Result, bail};
use clap::Parser as _;
use dev_load::binaries;
use dev_tools::{process::conclude, steps::Steps};
use tokio::runtime::{Builder, Runtime};

use self::{
    environment::{Environment, Store},
    nodes::{Bus, BusFault},
    options::{Fault, Options},
    report::Report,
    store_outage::OutageKind,
};

fn main() -> ExitCode {
    conclude(run(&Options::parse()))
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
        None => binaries::build(&options.profile, "api", "--example", "scripted_service"),
    })?;
    let with_postgres = options.stores().any(|store| store == Store::Postgres);
    let environment = steps.run("start", || {
        Environment::new(
            program,
            with_postgres,
            options.redis.is_some(),
            options.seed,
        )
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
    all.extend(strike_calls(options, environment, steps, &runtime)?);
    if options.stores().any(|store| store == Store::Postgres) {
        for bus in options.buses() {
            let injected = inject_between_nodes(options, environment, bus, steps, &runtime);
            all.extend(injected?);
        }
    }
    Ok(all)
}

/// The faults of turns with tool calls.
fn strike_calls(
    options: &Options,
    environment: &Environment,
    steps: &mut Steps,
    runtime: &Runtime,
) -> Result<Vec<Report>> {
    let mut all = Vec::new();
    for store in options.stores() {
        if options.wants(Fault::J4) {
            all.extend(steps.run("J4", || runtime.block_on(journal::race(environment, store)))?);
        }
        if options.wants(Fault::J6) {
            all.push(steps.run("J6", || runtime.block_on(waiting::run(environment, store)))?);
        }
    }
    if options.wants(Fault::J1) {
        let stores: Vec<_> = options.stores().collect();
        let struck = journal::run(environment, &stores, options.runs);
        all.extend(steps.run("J1", || runtime.block_on(struck))?);
    }
    Ok(all)
}

/// The faults of several nodes with this bus between them, on Postgres.
fn inject_between_nodes(
    options: &Options,
    environment: &Environment,
    bus: Bus,
    steps: &mut Steps,
    runtime: &Runtime,
) -> Result<Vec<Report>> {
    let mut all = Vec::new();
    if options.wants(Fault::N1) {
        let kills = nodes::kill(environment, bus, options.node_kills);
        all.push(steps.run("N1", || runtime.block_on(kills))?);
    }
    if options.wants(Fault::N4) {
        let limits = nodes::exceed_limits(environment, bus);
        all.push(steps.run("N4", || runtime.block_on(limits))?);
    }
    if options.wants(Fault::N5) {
        for with_bus in [true, false] {
            let revoked = nodes::revoke(environment, bus, with_bus);
            all.push(steps.run("N5", || runtime.block_on(revoked))?);
        }
    }
    if options.wants(Fault::N6) {
        for fault in BusFault::ALL {
            let injected = nodes::run_bus_fault(environment, bus, fault);
            all.push(steps.run("N6", || runtime.block_on(injected))?);
        }
    }
    if options.wants(Fault::N7) {
        let upgrade = nodes::upgrade(environment, bus, options.previous_program.clone());
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
