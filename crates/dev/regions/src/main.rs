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
mod slopes;
mod sockets;
mod streams;
mod workload;
mod written;

use std::{fs, path::PathBuf, process::ExitCode};

use anyhow::{Context as _, Result, bail};
use clap::{Parser as _, ValueEnum};
use dev_load::{
    binaries::Binaries,
    figures::{self, Figure},
};
use dev_tools::{
    process::{exit_code_of, root},
    steps::Steps,
};
use serde_json::json;

use self::{laboratory::Laboratory, operation::Budget, slopes::Slope};

/// The file of the figures.
const JSON: &str = "target/regions.json";

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
    match run(&Options::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("\nerror: {error:#}");
            exit_code_of(&error)
        }
    }
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
    let program = match &options.program {
        Some(program) => program.clone(),
        None => {
            steps
                .run("build", || Binaries::build(&options.profile))?
                .service
        }
    };
    let laboratory = steps.run("start", || Laboratory::start(&program))?;
    let results = Results::measure(options, &laboratory, &mut steps)?;
    steps.print_summary();
    figures::print(&results.figures);
    results.write(options)?;
    results.judge()
}

/// The results of all rows.
#[derive(Default)]
struct Results {
    figures: Vec<Figure>,
    slopes: Vec<Slope>,
    /// The lines about the outage.
    transcript: Vec<String>,
}

impl Results {
    fn measure(options: &Options, laboratory: &Laboratory, steps: &mut Steps) -> Result<Self> {
        let mut results = Self::default();
        let clients = &laboratory.clients;
        for (row, budget) in [(Row::R1, Budget::Local), (Row::R2, Budget::Home)] {
            if options.wants(row) {
                let measured = slopes::measure(laboratory, budget);
                let measured = steps.run(budget.row(), || clients.block_on(measured))?;
                let figure = |slope: &Slope| slope.figure(budget.row(), budget.target());
                results.figures.extend(measured.iter().map(figure));
                results.slopes.extend(measured);
                let measured = distances::measure(laboratory, budget);
                let measured = steps.run(budget.row(), || clients.block_on(measured))?;
                results.figures.extend(measured);
            }
        }
        if options.wants(Row::R2) {
            let measured = loss::measure(laboratory);
            let measured = steps.run("R2", || clients.block_on(measured))?;
            results.figures.push(measured);
        }
        if options.wants(Row::R3) {
            let measured = own_writes::measure(laboratory);
            let measured = steps.run("R3", || clients.block_on(measured))?;
            results.figures.extend(measured);
        }
        if options.wants(Row::R4) {
            let measured = event_reads::measure(laboratory);
            let measured = steps.run("R4", || clients.block_on(measured))?;
            results.figures.extend(measured);
        }
        if options.wants(Row::R5) {
            let measured = streams::measure(laboratory);
            let measured = steps.run("R5", || clients.block_on(measured))?;
            results.figures.extend(measured);
        }
        if options.wants(Row::R6) {
            let measured = sockets::measure(laboratory);
            let (slopes, figures) = steps.run("R6", || clients.block_on(measured))?;
            results.figures.extend(figures);
            results.slopes.extend(slopes);
        }
        if options.wants(Row::R7) {
            let measured = outage::measure(laboratory);
            let (figures, transcript) = steps.run("R7", || clients.block_on(measured))?;
            results.figures.extend(figures);
            results.transcript = transcript;
        }
        Ok(results)
    }

    fn write(&self, options: &Options) -> Result<()> {
        let document = json!({
            "profile": options.profile,
            "figures": self.figures,
            "transcript": self.transcript,
        });
        let text = serde_json::to_string_pretty(&document)?;
        let written = fs::write(root().join(JSON), text);
        written.with_context(|| format!("cannot write {JSON}"))?;
        println!("\nwrote {JSON}");
        if let Some(path) = &options.plot {
            let written = fs::write(path, plot::svg(&self.slopes));
            written.with_context(|| format!("cannot write {}", path.display()))?;
            println!("wrote {}", path.display());
        }
        Ok(())
    }

    /// Fails if a target is missed.
    fn judge(&self) -> Result<()> {
        let missed = self.figures.iter();
        let missed = missed.filter(|figure| figure.met == Some(false));
        let missed: Vec<_> = missed.map(|figure| figure.id).collect();
        if !missed.is_empty() {
            bail!("missed targets of {}", missed.join(", "));
        }
        Ok(())
    }
}
