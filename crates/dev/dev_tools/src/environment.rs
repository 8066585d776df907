//! Environment variables, which are read here and nowhere else.

use std::{env, path::PathBuf};

/// Returns the value of a variable; `None` also if it is empty.
pub fn variable(name: &str) -> Option<String> {
    #[expect(
        clippy::disallowed_methods,
        reason = "the one place where this tool reads it"
    )]
    let value = env::var(name).ok();
    value.filter(|value| !value.is_empty())
}

/// Returns the folders of `PATH`.
pub fn search_path() -> Vec<PathBuf> {
    variable("PATH")
        .map(|path| env::split_paths(&path).collect())
        .unwrap_or_default()
}
