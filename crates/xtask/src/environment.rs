//! What the environment says: read here and nowhere else.

use std::{env, path::PathBuf};

/// A variable's value; `None` also when it is empty.
pub(crate) fn variable(name: &str) -> Option<String> {
    #[expect(
        clippy::disallowed_methods,
        reason = "the one place where this tool reads it"
    )]
    let value = env::var(name).ok();
    value.filter(|value| !value.is_empty())
}

/// The folders in which commands are looked up.
pub(crate) fn search_path() -> Vec<PathBuf> {
    variable("PATH")
        .map(|path| env::split_paths(&path).collect())
        .unwrap_or_default()
}
