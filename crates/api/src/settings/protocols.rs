//! The protocols of other products' clients that are turned off.

use protocols::PROTOCOLS;

use super::{models::true_or_false, values::Values};

/// Reads the names of the protocols that are turned off.
pub(super) fn read(values: &mut Values) -> Vec<&'static str> {
    let mut is_enabled = |setting| values.read(setting, true, "true or false", true_or_false);
    let disabled = PROTOCOLS.iter().filter(|it| !is_enabled(it.setting));
    disabled.map(|it| it.name).collect()
}
