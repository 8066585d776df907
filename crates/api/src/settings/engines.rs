//! Settings of reply engines.

use std::collections::BTreeSet;

use super::{models::is_partly_configured, values::Values};

const DEFAULT: &str = "ENGINES__DEFAULT";

/// Settings of reply engines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EngineSettings {
    /// `ENGINES__DEFAULT`: the engine of agents that name none.
    /// [`Settings::load_for`](super::Settings::load_for) checks that it exists.
    pub default: Option<String>,
}

impl EngineSettings {
    pub(super) fn read(values: &mut Values) -> Self {
        let expected = "the name of a reply engine: 1 to 64 characters";
        Self {
            default: values.read_optional(DEFAULT, expected, engine_name),
        }
    }

    /// Rejects a default that is not one of the engines `known`. For an incompletely configured
    /// engine only the missing settings are reported.
    pub(super) fn check_default(&self, values: &mut Values, known: &BTreeSet<&str>) {
        let Some(name) = &self.default else { return };
        if known.contains(name.as_str()) || is_partly_configured(values, name) {
            return;
        }
        let names: Vec<_> = known.iter().copied().collect();
        let expected = format!("the name of an existing engine: {}", names.join(", "));
        values.reject(DEFAULT, &expected);
    }
}

fn engine_name(text: &str) -> Option<String> {
    let fits = (1..=64).contains(&text.chars().count()) && !text.contains(char::is_control);
    fits.then(|| text.to_owned())
}
