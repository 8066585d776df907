//! Who answers.

use super::values::Values;

/// Who answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EngineSettings {
    /// `ENGINES__DEFAULT`: the engine of agents that name none. Whether there is such an engine
    /// shows when the engines are put together.
    pub default: Option<String>,
}

impl EngineSettings {
    pub(super) fn read(values: &mut Values) -> Self {
        let expected = "the name of a reply engine: 1 to 64 characters";
        Self {
            default: values.read_optional("ENGINES__DEFAULT", expected, engine_name),
        }
    }
}

fn engine_name(text: &str) -> Option<String> {
    let fits = (1..=64).contains(&text.chars().count()) && !text.contains(char::is_control);
    fits.then(|| text.to_owned())
}
