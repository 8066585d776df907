//! Who answers.

use std::collections::BTreeSet;

use super::{models::is_begun, values::Values};

const DEFAULT: &str = "ENGINES__DEFAULT";

/// Who answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EngineSettings {
    /// `ENGINES__DEFAULT`: the engine of agents that name none. Whether there is such an engine
    /// is judged by [`Settings::load_for`](super::Settings::load_for), which knows them.
    pub default: Option<String>,
}

impl EngineSettings {
    pub(super) fn read(values: &mut Values) -> Self {
        let expected = "the name of a reply engine: 1 to 64 characters";
        Self {
            default: values.read_optional(DEFAULT, expected, engine_name),
        }
    }

    /// Refuses a default that is none of the engines `known`. Of one that is only half given it is
    /// told what else it needs, not also that it is not there.
    pub(super) fn judge(&self, values: &mut Values, known: &BTreeSet<&str>) {
        let Some(name) = &self.default else { return };
        if known.contains(name.as_str()) || is_begun(values, name) {
            return;
        }
        let names: Vec<_> = known.iter().copied().collect();
        let expected = format!("the name of an engine that there is: {}", names.join(", "));
        values.refuse(DEFAULT, &expected);
    }
}

fn engine_name(text: &str) -> Option<String> {
    let fits = (1..=64).contains(&text.chars().count()) && !text.contains(char::is_control);
    fits.then(|| text.to_owned())
}
