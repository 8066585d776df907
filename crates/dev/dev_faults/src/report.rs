//! The result of a fault, as a table and as JSON.

use std::{collections::BTreeMap, fs};

use anyhow::{Context as _, Result, bail};
use dev_tools::process::root;
use serde::Serialize;

/// The file of the results.
const JSON: &str = "target/faults.json";
/// The number of losses that are described.
const SHOWN: usize = 5;

/// The result of a fault.
#[derive(Debug, Serialize)]
pub(super) struct Report {
    fault: &'static str,
    /// The description of the fault.
    done: String,
    /// Counts, in the order of their first use.
    counts: Vec<(&'static str, usize)>,
    /// Counts of losses; expected ones are listed even if they are 0.
    losses: BTreeMap<&'static str, usize>,
    /// Times and sizes.
    figures: Vec<(String, f64, &'static str)>,
    /// Descriptions of the first losses.
    details: Vec<String>,
    /// The reason reason the fault was not injected.
    skipped: Option<String>,
}

impl Report {
    /// An empty report.
    pub(super) fn new(fault: &'static str, done: impl Into<String>) -> Self {
        Self {
            fault,
            done: done.into(),
            counts: Vec::new(),
            losses: BTreeMap::new(),
            figures: Vec::new(),
            details: Vec::new(),
            skipped: None,
        }
    }

    /// The report of a fault that cannot be injected here.
    pub(super) fn skipped(mut self, reason: impl Into<String>) -> Self {
        self.skipped = Some(reason.into());
        self
    }

    /// Adds to a count.
    pub(super) fn count(&mut self, name: &'static str, number: usize) {
        match self.counts.iter_mut().find(|(known, _)| *known == name) {
            Some((_, total)) => *total += number,
            None => self.counts.push((name, number)),
        }
    }

    /// Lists losses that must not happen.
    pub(super) fn expect_no(&mut self, of: &[&'static str]) {
        for name in of {
            self.losses.entry(name).or_default();
        }
    }

    /// Counts a loss.
    pub(super) fn record_loss(&mut self, name: &'static str, detail: impl FnOnce() -> String) {
        *self.losses.entry(name).or_default() += 1;
        if self.details.len() < SHOWN {
            self.details.push(format!("{name}: {}", detail()));
        }
    }

    /// Counts several losses of one kind.
    pub(super) fn record_losses(&mut self, name: &'static str, details: Vec<String>) {
        for detail in details {
            self.record_loss(name, || detail);
        }
    }

    /// Adds a time or a size.
    pub(super) fn add_figure(&mut self, name: impl Into<String>, value: f64, unit: &'static str) {
        self.figures.push((name.into(), value, unit));
    }

    /// Adds a time or a size, and a loss if it exceeds `most`.
    pub(super) fn add_bounded(
        &mut self,
        name: &'static str,
        value: f64,
        unit: &'static str,
        most: f64,
    ) {
        self.add_figure(format!("{name} (≤ {most:.2})"), value, unit);
        self.expect_no(&["out of bounds"]);
        if value > most {
            self.record_loss("out of bounds", || {
                format!("{name} {value:.2} {unit}, at most {most:.2}")
            });
        }
    }

    /// All counts, and on a second line all losses.
    pub(super) fn summary(&self) -> String {
        let counts = self.counts.iter().map(|(name, it)| format!("{name} {it}"));
        let losses = self.losses.iter().map(|(name, it)| format!("{name} {it}"));
        let lines = [counts.collect::<Vec<_>>(), losses.collect()];
        lines.map(|line| line.join(", ")).join("\n")
    }

    /// Returns true if nothing was lost.
    pub(super) fn has_no_loss(&self) -> bool {
        self.losses.values().all(|number| *number == 0)
    }

    fn verdict(&self) -> &'static str {
        match (&self.skipped, self.has_no_loss()) {
            (Some(_), _) => "skipped",
            (None, true) => "held",
            (None, false) => "LOST",
        }
    }
}

/// Prints a table.
pub(super) fn print(all: &[Report]) {
    println!();
    for report in all {
        let verdict = report.verdict();
        println!("{:<8} {:<84} {verdict}", report.fault, report.done);
        if let Some(reason) = &report.skipped {
            println!("         {reason}");
        }
        let counts = report.counts.iter().copied();
        let losses = report.losses.iter().map(|(name, number)| (*name, *number));
        for numbers in [counts.collect::<Vec<_>>(), losses.collect()] {
            let texts: Vec<_> = numbers
                .iter()
                .map(|(name, it)| format!("{name} {it}"))
                .collect();
            if !texts.is_empty() {
                println!("         {}", texts.join(", "));
            }
        }
        for (name, value, unit) in &report.figures {
            println!("         {name:<62} {value:>9.2} {unit}");
        }
        for detail in &report.details {
            println!("         ! {detail}");
        }
    }
}

/// Writes JSON.
pub(super) fn write(all: &[Report]) -> Result<()> {
    let texts: Vec<_> = all
        .iter()
        .map(|report| {
            let mut value = serde_json::to_value(report)?;
            value["verdict"] = report.verdict().into();
            Ok(value)
        })
        .collect::<Result<_>>()?;
    let path = root().join(JSON);
    fs::write(&path, serde_json::to_string_pretty(&texts)?)
        .with_context(|| format!("cannot write {JSON}"))?;
    println!("\nwrote {JSON}");
    Ok(())
}

/// Fails on any loss.
pub(super) fn judge(all: &[Report]) -> Result<()> {
    let lost = all.iter().filter(|report| !report.has_no_loss());
    let lost: Vec<_> = lost.map(|report| report.fault).collect();
    if !lost.is_empty() {
        bail!("losses in {}", lost.join(", "));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_loss_is_a_loss() {
        let mut report = Report::new("F1", "kill");
        report.expect_no(&["lost"]);
        report.add_bounded("start", 1.0, "s", 1.0);
        assert_eq!(report.verdict(), "held");
        assert!(judge(std::slice::from_ref(&report)).is_ok());
        report.record_loss("lost", || "one".to_owned());
        assert_eq!(report.verdict(), "LOST");
        assert!(judge(&[report]).is_err());
    }

    #[test]
    fn a_figure_beyond_its_bound_is_a_loss() {
        let mut report = Report::new("F2", "stop");
        report.add_bounded("recovery", 5.1, "s", 5.0);
        assert_eq!(report.verdict(), "LOST");
    }

    #[test]
    fn a_skipped_fault_is_neither_held_nor_lost() {
        let report = Report::new("F3", "fill").skipped("no root");
        assert_eq!(report.verdict(), "skipped");
    }
}
