//! The table of results.

use std::fmt;

use serde::Serialize;

/// The target of a figure.
#[derive(Debug, Clone, Copy, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Target {
    /// A lower bound.
    AtLeast(f64),
    /// An upper bound.
    AtMost(f64),
}

/// One row of the table.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Figure {
    pub(crate) id: &'static str,
    /// The operation and its baseline.
    pub(crate) work: &'static str,
    /// Absent for a figure without a target.
    pub(crate) target: Option<Target>,
    pub(crate) value: f64,
    pub(crate) unit: &'static str,
    /// True if the target is met; absent without a target, and when the build profile does not
    /// allow a verdict.
    pub(crate) met: Option<bool>,
    /// The values from which the figure was computed.
    pub(crate) from: Vec<Part>,
}

/// A value from which a figure was computed. Times and rates vary with the machine: quote only the
/// figure.
#[derive(Debug, Serialize)]
pub(crate) struct Part {
    pub(crate) what: String,
    pub(crate) value: f64,
    pub(crate) unit: &'static str,
}

impl Part {
    /// Returns a part of a figure.
    pub(crate) fn new(what: impl Into<String>, value: f64, unit: &'static str) -> Self {
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
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AtLeast(least) => write!(formatter, "≥ {least}"),
            Self::AtMost(most) => write!(formatter, "≤ {most}"),
        }
    }
}

impl Figure {
    /// Returns a figure with a target and its verdict.
    pub(crate) fn new(
        (id, work): (&'static str, &'static str),
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
    pub(crate) fn without_target(
        (id, work): (&'static str, &'static str),
        value: f64,
        unit: &'static str,
        from: Vec<Part>,
    ) -> Self {
        Self {
            id,
            work,
            target: None,
            value,
            unit,
            met: None,
            from,
        }
    }

    /// The same figure without a verdict.
    pub(crate) fn unjudged(self) -> Self {
        Self { met: None, ..self }
    }
}

/// Prints all figures and their parts as one table.
pub(crate) fn print(figures: &[Figure]) {
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
    }
}
