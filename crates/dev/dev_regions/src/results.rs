//! The results of all rows, as a table, as JSON and as a plot.

use std::fs;

use anyhow::{Context as _, Result, bail};
use dev_load::figures::{self, Figure};
use dev_tools::{process::root, steps::Steps};
use serde_json::json;

use super::{
    Options, Row, distances, event_reads, laboratory::Laboratory, loss, operation::Budget, outage,
    own_writes, plot, slopes, slopes::Slope, sockets, streams,
};

/// The file of the figures.
const JSON: &str = "target/regions.json";

/// The results of all rows.
#[derive(Default)]
pub(crate) struct Results {
    figures: Vec<Figure>,
    slopes: Vec<Slope>,
    /// The lines about the outage.
    transcript: Vec<String>,
    /// The rows that could not be measured.
    failed: Vec<&'static str>,
}

impl Results {
    /// Measures all requested rows.
    pub(crate) fn measure(options: &Options, laboratory: &Laboratory, steps: &mut Steps) -> Self {
        let mut results = Self::default();
        for (row, budget) in [(Row::R1, Budget::Local), (Row::R2, Budget::Home)] {
            if options.wants(row) {
                results.measure_operations(laboratory, steps, budget);
            }
        }
        let mut run = Run { laboratory, steps };
        if options.wants(Row::R3) {
            let measured = own_writes::measure(laboratory);
            results.add_figures("R3", run.row("R3", measured));
        }
        if options.wants(Row::R4) {
            let measured = event_reads::measure(laboratory);
            results.add_figures("R4", run.row("R4", measured));
        }
        if options.wants(Row::R5) {
            let measured = streams::measure(laboratory);
            results.add_figures("R5", run.row("R5", measured));
        }
        if options.wants(Row::R6) {
            let measured = run.row("R6", sockets::measure(laboratory));
            let figures = measured.map(|(slopes, figures)| {
                results.slopes.extend(slopes);
                figures
            });
            results.add_figures("R6", figures);
        }
        if options.wants(Row::R7) {
            let measured = run.row("R7", outage::measure(laboratory));
            let figures = measured.map(|(figures, transcript)| {
                results.transcript = transcript;
                figures
            });
            results.add_figures("R7", figures);
        }
        results
    }

    /// Measures R1 or R2.
    fn measure_operations(&mut self, laboratory: &Laboratory, steps: &mut Steps, budget: Budget) {
        let (row, mut run) = (budget.row(), Run { laboratory, steps });
        let measured = run.row(row, slopes::measure(laboratory, budget));
        let figures = measured.map(|slopes| {
            let figure = |slope: &Slope| slope.figure(row, budget.target());
            let figures = slopes.iter().map(figure).collect();
            self.slopes.extend(slopes);
            figures
        });
        self.add_figures(row, figures);
        let measured = distances::measure(laboratory, budget);
        self.add_figures(row, run.row(row, measured));
        if budget == Budget::Home {
            let measured = run.row(row, loss::measure(laboratory));
            self.add_figures(row, measured.map(|figure| vec![figure]));
        }
    }

    /// Adds the figures of a row; none if it could not be measured.
    fn add_figures(&mut self, row: &'static str, figures: Option<Vec<Figure>>) {
        match figures {
            Some(figures) => self.figures.extend(figures),
            None => self.failed.push(row),
        }
    }

    /// Prints all figures.
    pub(crate) fn print(&self) {
        figures::print(&self.figures);
    }

    /// Writes JSON, and the plot if requested.
    pub(crate) fn write(&self, options: &Options) -> Result<()> {
        let document = json!({
            "profile": options.profile,
            "figures": self.figures,
            "failed": self.failed,
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

    /// Fails if a target is missed, or a row could not be measured.
    pub(crate) fn judge(&self) -> Result<()> {
        let missed = self.figures.iter();
        let missed = missed.filter(|figure| figure.met == Some(false));
        let missed: Vec<_> = missed.map(|figure| figure.id).collect();
        if !self.failed.is_empty() {
            bail!("not measured: {}", self.failed.join(", "));
        }
        if !missed.is_empty() {
            bail!("missed targets of {}", missed.join(", "));
        }
        Ok(())
    }
}

/// Measures one row after the other.
struct Run<'r> {
    laboratory: &'r Laboratory,
    steps: &'r mut Steps,
}

impl Run<'_> {
    /// Measures a row; prints an error and returns `None` if it cannot be measured.
    fn row<T>(&mut self, name: &'static str, row: impl Future<Output = Result<T>>) -> Option<T> {
        let clients = &self.laboratory.clients;
        let measured = self.steps.run(name, || clients.block_on(row));
        self.laboratory.reset();
        measured
            .inspect_err(|error| eprintln!("error: {error:#}"))
            .ok()
    }
}
