//! `cargo xtask regions`: several regions on one machine, connected by links with the published
//! round trips, and the delays, consistency and outages that clients observe.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "the terminal is its interface"
)]

mod client;
mod distances;
mod event_reads;
mod far_node;
mod laboratory;
mod line;
mod loss;
mod node_settings;
mod numbers;
mod operation;
mod outage;
mod own_writes;
mod plot;
mod region;
mod results;
mod slopes;
mod sockets;
mod streams;
mod workload;
mod written;

use std::{path::PathBuf, process::ExitCode};

use anyhow::{Result, bail};
use clap::{Parser as _, ValueEnum};
use dev_load::binaries::Binaries;
use dev_tools::{process::conclude, steps::Steps};

use self::{laboratory::Laboratory, results::Results};

/// Measures delays, consistency and outages of several regions
#[derive(clap::Parser)]
#[command(name = "cargo xtask regions", bin_name = "cargo xtask regions")]
struct Options {
    /// Measure only these rows, such as R1,R3
    #[arg(long, value_delimiter = ',', ignore_case = true)]
    only: Vec<Row>,
    /// Build profile of the service
    #[arg(long, default_value = "bench-local")]
    profile: String,
    /// Use this build of the service instead of building it
    #[arg(long)]
    program: Option<PathBuf>,
    /// Write a plot of the slopes to this SVG file
    #[arg(long)]
    plot: Option<PathBuf>,
}

/// A row of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Row {
    /// Reads in every region
    #[value(name = "R1")]
    R1,
    /// Writes from every region
    #[value(name = "R2")]
    R2,
    /// Reads of own writes
    #[value(name = "R3")]
    R3,
    /// Reads after events
    #[value(name = "R4")]
    R4,
    /// First words and pauses of streams
    #[value(name = "R5")]
    R5,
    /// Sockets
    #[value(name = "R6")]
    R6,
    /// The home region is cut off
    #[value(name = "R7")]
    R7,
}

impl Options {
    fn wants(&self, row: Row) -> bool {
        self.only.is_empty() || self.only.contains(&row)
    }
}

fn main() -> ExitCode {
    conclude(run(&Options::parse()))
}

/// Builds the service, starts all regions, measures, prints a table and writes JSON; fails if a
/// target is missed.
fn run(options: &Options) -> Result<()> {
    if cfg!(debug_assertions) {
        bail!(
            "an unoptimised build takes the processor from the service; use `cargo xtask regions`"
        );
    }
    let mut steps = Steps::default();
    let build = || Binaries::build(&options.profile, options.program.clone());
    let program = steps.run("build", build)?.service;
    let laboratory = steps.run("start", || Laboratory::start(&program))?;
    let results = Results::measure(options, &laboratory, &mut steps);
    steps.print_summary();
    results.print();
    results.write(options)?;
    results.judge()
}
