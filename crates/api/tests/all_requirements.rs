//! Says once what the tests need, before all others: `cargo test` runs the files of this folder in the
//! order of their names, and stops at the first that fails.

use std::{env, process::ExitCode};

/// The variables that `cargo xtask test` sets.
const VARIABLES: [&str; 2] = ["TEST_DATABASE_URL", "TEST_CLIENTS"];

#[expect(clippy::print_stderr, reason = "it is for people at a terminal")]
fn main() -> ExitCode {
    let is_provided = VARIABLES.iter().all(|name| env::var_os(name).is_some());
    // Test runners ask for a list of tests, and people who name some know what these need.
    if is_provided || env::args().len() > 1 {
        return ExitCode::SUCCESS;
    }
    eprintln!(
        "These tests need Postgres, Redis, PgBouncer, Chromium and client libraries: run `cargo xtask test --install`."
    );
    ExitCode::FAILURE
}
