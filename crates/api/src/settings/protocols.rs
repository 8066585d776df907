//! The protocols of other products' clients that are turned on.

use kit::operations::EnabledProtocols;

use super::{models::true_or_false, values::Values};

pub(super) fn read(values: &mut Values) -> EnabledProtocols {
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
    EnabledProtocols(enabled)
}
