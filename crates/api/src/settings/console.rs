//! The settings of the console.

use super::{models::true_or_false, values::Values};

/// The settings of the console.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConsoleSettings {
    /// True if the service serves the console.
    pub is_enabled: bool,
}

impl ConsoleSettings {
    pub(super) fn read(values: &mut Values) -> Self {
        let is_enabled = values.read("CONSOLE__ENABLED", true, "true or false", true_or_false);
        Self { is_enabled }
    }
}
