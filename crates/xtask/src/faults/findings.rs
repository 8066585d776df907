//! What came of breaking something, as a table and as JSON.

use std::{collections::BTreeMap, fs};

use anyhow::{Context as _, Result, bail};
use serde::Serialize;

use crate::process::root;

/// Where the findings are written.
const JSON: &str = "target/faults.json";
/// Losses of which is told what they are.
const SHOWN: usize = 5;

/// What came of a fault.
#[derive(Debug, Serialize)]
pub(super) struct Findings {
    fault: &'static str,
    /// What was done.
    done: String,
    /// How much there was of everything, in the order in which it was counted first.
    counts: Vec<(&'static str, usize)>,
    /// What should be none, and is told even so.
    losses: BTreeMap<&'static str, usize>,
    /// Times and sizes.
    figures: Vec<(String, f64, &'static str)>,
    /// The first losses.
    details: Vec<String>,
    /// Why nothing was done.
    skipped: Option<String>,
}

impl Findings {
    /// Nothing as yet.
    pub(super) fn of(fault: &'static str, done: impl Into<String>) -> Self {
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

    /// A fault that cannot be brought about here.
    pub(super) fn skipped(mut self, why: impl Into<String>) -> Self {
        self.skipped = Some(why.into());
        self
    }

    /// Counts something.
    pub(super) fn count(&mut self, what: &'static str, number: usize) {
        match self.counts.iter_mut().find(|(name, _)| *name == what) {
            Some((_, total)) => *total += number,
            None => self.counts.push((what, number)),
        }
    }

    /// Says that this should not happen, so that it is told as 0.
    pub(super) fn expect_none(&mut self, of: &[&'static str]) {
        for what in of {
            self.losses.entry(what).or_default();
        }
    }

    /// Counts something that should not have happened.
    pub(super) fn lose(&mut self, what: &'static str, detail: impl FnOnce() -> String) {
        *self.losses.entry(what).or_default() += 1;
        if self.details.len() < SHOWN {
            self.details.push(format!("{what}: {}", detail()));
        }
    }

    /// Counts all of these as something that should not have happened.
    pub(super) fn lose_all(&mut self, what: &'static str, details: Vec<String>) {
        for detail in details {
            self.lose(what, || detail);
        }
    }

    /// Tells a time or a size.
    pub(super) fn tell(&mut self, what: impl Into<String>, value: f64, unit: &'static str) {
        self.figures.push((what.into(), value, unit));
    }

    /// Tells a time or a size that should be at most so much.
    pub(super) fn bound(&mut self, what: &'static str, value: f64, unit: &'static str, most: f64) {
        self.tell(format!("{what} (≤ {most:.2})"), value, unit);
        self.expect_none(&["out of bounds"]);
        if value > most {
            self.lose("out of bounds", || {
                format!("{what} {value:.2} {unit}, at most {most:.2}")
            });
        }
    }

    /// What was counted, and below it what was lost.
    pub(super) fn summary(&self) -> String {
        let counts = self.counts.iter().map(|(name, it)| format!("{name} {it}"));
        let losses = self.losses.iter().map(|(name, it)| format!("{name} {it}"));
        let lines = [counts.collect::<Vec<_>>(), losses.collect()];
        lines.map(|line| line.join(", ")).join("\n")
    }

    /// Whether nothing was lost.
    pub(super) fn has_held(&self) -> bool {
        self.losses.values().all(|number| *number == 0)
    }

    fn verdict(&self) -> &'static str {
        match (&self.skipped, self.has_held()) {
            (Some(_), _) => "skipped",
            (None, true) => "held",
            (None, false) => "LOST",
        }
    }
}

/// Prints a table.
pub(super) fn print(all: &[Findings]) {
    println!();
    for findings in all {
        let verdict = findings.verdict();
        println!("{:<8} {:<84} {verdict}", findings.fault, findings.done);
        if let Some(why) = &findings.skipped {
            println!("         {why}");
        }
        let counts = findings.counts.iter().copied();
        let losses = findings
            .losses
            .iter()
            .map(|(name, number)| (*name, *number));
        for numbers in [counts.collect::<Vec<_>>(), losses.collect()] {
            let told: Vec<_> = numbers
                .iter()
                .map(|(name, it)| format!("{name} {it}"))
                .collect();
            if !told.is_empty() {
                println!("         {}", told.join(", "));
            }
        }
        for (what, value, unit) in &findings.figures {
            println!("         {what:<62} {value:>9.2} {unit}");
        }
        for detail in &findings.details {
            println!("         ! {detail}");
        }
    }
}

/// Writes JSON.
pub(super) fn write(all: &[Findings]) -> Result<()> {
    let told: Vec<_> = all
        .iter()
        .map(|findings| {
            let mut value = serde_json::to_value(findings)?;
            value["verdict"] = findings.verdict().into();
            Ok(value)
        })
        .collect::<Result<_>>()?;
    let path = root().join(JSON);
    fs::write(&path, serde_json::to_string_pretty(&told)?)
        .with_context(|| format!("cannot write {JSON}"))?;
    println!("\nwrote {JSON}");
    Ok(())
}

/// Fails when something was lost.
pub(super) fn judge(all: &[Findings]) -> Result<()> {
    let lost = all.iter().filter(|findings| !findings.has_held());
    let lost: Vec<_> = lost.map(|findings| findings.fault).collect();
    if !lost.is_empty() {
        bail!("something was lost: {}", lost.join(", "));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_loss_is_a_loss() {
        let mut findings = Findings::of("F1", "kill");
        findings.expect_none(&["lost"]);
        findings.bound("start", 1.0, "s", 1.0);
        assert_eq!(findings.verdict(), "held");
        assert!(judge(std::slice::from_ref(&findings)).is_ok());
        findings.lose("lost", || "one".to_owned());
        assert_eq!(findings.verdict(), "LOST");
        assert!(judge(&[findings]).is_err());
    }

    #[test]
    fn a_figure_beyond_its_bound_is_a_loss() {
        let mut findings = Findings::of("F2", "stop");
        findings.bound("recovery", 5.1, "s", 5.0);
        assert_eq!(findings.verdict(), "LOST");
    }

    #[test]
    fn what_was_skipped_is_neither_held_nor_lost() {
        let findings = Findings::of("F3", "fill").skipped("no root");
        assert_eq!(findings.verdict(), "skipped");
    }
}
