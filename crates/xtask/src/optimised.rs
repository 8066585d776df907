//! Starts programs of `crates/dev` in an optimised build: an unoptimised load generator would take
//! the processor time of the service that it measures.

use std::{ffi::OsString, process::Command};

use anyhow::Result;
use dev_tools::process::{root, run as run_program};

/// The profile of the load generator.
const PROFILE: &str = "bench-local";

/// Runs the program of `package`, built by cargo if its sources have changed, in the caller's
/// folder: arguments may hold relative paths.
pub(crate) fn run(package: &str, arguments: &[OsString]) -> Result<()> {
    let mut command = Command::new("cargo");
    command
        .args(["run", "--locked", "--quiet", "--profile", PROFILE])
        .args(["--package", package, "--manifest-path"])
        .arg(root().join("Cargo.toml"))
        .arg("--")
        .args(arguments);
    run_program(&mut command)
}
