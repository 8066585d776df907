//! The table of results.

use std::{borrow::Cow, fmt};

use serde::Serialize;

/// The target of a figure.
#[derive(Debug, Clone, Copy, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Target {
    /// A lower bound.
    AtLeast(f64),
    /// An upper bound.
    AtMost(f64),
    /// Both bounds.
    Between(f64, f64),
}

/// One row of the table.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Figure {
    /// The id of the row.
    pub id: &'static str,
    /// The operation and its baseline.
    pub work: Cow<'static, str>,
    /// Absent for a figure without a target.
    pub target: Option<Target>,
    /// The measured value.
    pub value: f64,
    /// The unit of the value.
    pub unit: &'static str,
    /// True if the target is met; absent without a target, and when the build profile does not
    /// allow a verdict.
    pub met: Option<bool>,
    /// The values from which the figure was computed.
    pub from: Vec<Part>,
}

/// A value from which a figure was computed. Times and rates vary with the machine: quote only the
/// figure.
#[derive(Debug, Serialize)]
pub struct Part {
    /// The description.
    pub what: String,
    /// The value.
    pub value: f64,
    /// The unit of the value.
    pub unit: &'static str,
}

impl Part {
    /// Returns a part of a figure.
    pub fn new(what: impl Into<String>, value: f64, unit: &'static str) -> Self {
        Self {
            what: what.into(),
            value,
            unit,
        }
    }
}

impl Target {
    fn is_met_by(self, figure: f64) -> bool {
        match self {
            Self::AtLeast(least) => figure >= least,
            Self::AtMost(most) => figure <= most,
            Self::Between(least, most) => (least..=most).contains(&figure),
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AtLeast(least) => write!(formatter, "≥ {least}"),
            Self::AtMost(most) => write!(formatter, "≤ {most}"),
            Self::Between(least, most) => write!(formatter, "{least}–{most}"),
        }
    }
}

impl Figure {
    /// Returns a figure with a target and its verdict.
    pub fn new(
        (id, work): (&'static str, impl Into<Cow<'static, str>>),
        target: Target,
        value: f64,
        unit: &'static str,
        from: Vec<Part>,
    ) -> Self {
        Self {
            target: Some(target),
            met: Some(target.is_met_by(value)),
            ..Self::without_target((id, work), value, unit, from)
        }
    }

    /// Returns a figure without a target.
    pub fn without_target(
        (id, work): (&'static str, impl Into<Cow<'static, str>>),
        value: f64,
        unit: &'static str,
        from: Vec<Part>,
    ) -> Self {
        Self {
            id,
            work: work.into(),
            target: None,
            value,
            unit,
            met: None,
            from,
        }
    }

    /// The same figure without a verdict.
    #[must_use]
    pub fn unjudged(self) -> Self {
        Self { met: None, ..self }
    }
}

/// Prints all figures and their parts as one table.
pub fn print(figures: &[Figure]) {
    println!(
        "\n{:<4} {:<62} {:>9} {:>10}  verdict",
        "", "", "target", "figure"
    );
    for figure in figures {
        let verdict = match figure.met {
            Some(true) => "met",
            Some(false) => "MISSED",
            None => "not judged",
        };
        let target = figure.target.map_or("none".to_owned(), |it| it.to_string());
        println!(
            "{:<4} {:<62} {:>9} {:>10}  {verdict}",
            figure.id,
            figure.work,
            target,
            format!("{:.2} {}", figure.value, figure.unit),
        );
        for part in &figure.from {
            println!(
                "       {:<59} {:>20}",
                part.what,
                format!("{:.2} {}", part.value, part.unit)
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_includes_its_own_value() {
        assert!(Target::AtLeast(0.6).is_met_by(0.6));
        assert!(!Target::AtLeast(0.6).is_met_by(0.59));
        assert!(Target::AtMost(1.3).is_met_by(1.3));
        assert!(!Target::AtMost(1.3).is_met_by(1.31));
        let between = Target::Between(0.95, 1.1);
        let verdicts = [0.94, 0.95, 1.1, 1.11].map(|figure| between.is_met_by(figure));
        assert_eq!(verdicts, [false, true, true, false]);
    }
}
