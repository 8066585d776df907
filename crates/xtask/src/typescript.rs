//! The tests of the TypeScript client.

use std::{path::Path, process::Command};

use anyhow::Result;
use dev_tools::{
    postgres::{Database, URL_VARIABLE},
    process::{root, run as run_program},
};

/// The folder of the client.
const FOLDER: &str = "clients/typescript";
/// The variable with the service that the tests start.
const BINARY_VARIABLE: &str = "SERVICE_BINARY";
/// The scripts of the package, in the order in which they run.
const SCRIPTS: [&str; 4] = ["check", "size", "build", "test"];

/// Installs the libraries of the client, and runs its checks and tests against `service`, with SQLite
/// and with `database`.
pub(crate) fn test(service: &Path, database: &Database) -> Result<()> {
    run_program(&mut npm(&[
        "ci",
        "--ignore-scripts",
        "--no-audit",
        "--no-fund",
    ]))?;
    for script in SCRIPTS {
        let mut command = npm(&["run", script]);
        command.env(BINARY_VARIABLE, service);
        command.env(URL_VARIABLE, database.url());
        run_program(&mut command)?;
    }
    Ok(())
}

fn npm(arguments: &[&str]) -> Command {
    let mut command = Command::new("npm");
    command.current_dir(root().join(FOLDER)).args(arguments);
    command
}
