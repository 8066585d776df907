//! The protocols of other products' clients that are turned on.

use super::{models::true_or_false, values::Values};

/// The names of the protocols that are turned on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EnabledProtocols(Vec<&'static str>);

impl EnabledProtocols {
    pub(super) fn read(values: &mut Values) -> Self {
        let mut enabled = Vec::new();
        for (key, name) in [
            ("PROTOCOLS__AI_SDK", "ai_sdk"),
            ("PROTOCOLS__OPENAI", "openai"),
            ("PROTOCOLS__AG_UI", "ag_ui"),
        ] {
            if values.read(key, true, "true or false", true_or_false) {
                enabled.push(name);
            }
        }
        Self(enabled)
    }

    /// Returns whether a protocol is turned on.
    pub fn contains(&self, name: &str) -> bool {
        self.0.contains(&name)
    }
}
