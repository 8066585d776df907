//! The TypeScript client, the console, which is built on it, and the examples.

use std::{path::Path, process::Command};

use anyhow::Result;
use dev_tools::{
    postgres::{Database, URL_VARIABLE},
    process::{root, run as run_program},
};

/// The folders of the packages; that of the workspace has the formatter and linter of all others.
const STYLE: &str = ".";
const CLIENT: &str = "clients/typescript";
const CONSOLE: &str = "clients/console";
/// The variable with the service that the tests start.
const BINARY_VARIABLE: &str = "SERVICE_BINARY";
/// The scripts of each package, in the order in which they run.
const CLIENT_SCRIPTS: [&str; 4] = ["check", "size", "build", "test"];
const CONSOLE_SCRIPTS: [&str; 2] = ["check", "test"];

/// Checks the format and the lints of all packages.
pub(crate) fn check_style() -> Result<()> {
    install(STYLE)?;
    run_program(&mut npm(STYLE, &["run", "check"]))
}

/// Runs the checks and tests of the client against `service`, with SQLite and with `database`.
pub(crate) fn test_client(service: &Path, database: &Database) -> Result<()> {
    install(CLIENT)?;
    for script in CLIENT_SCRIPTS {
        let mut command = npm(CLIENT, &["run", script]);
        command.env(BINARY_VARIABLE, service);
        command.env(URL_VARIABLE, database.url());
        run_program(&mut command)?;
    }
    Ok(())
}

/// Tries the packed client against `service` in new projects of these toolchains, by default of all.
pub(crate) fn test_toolchains(service: &Path, names: &[String]) -> Result<()> {
    install(CLIENT)?;
    let mut command = Command::new("node");
    command.current_dir(root().join(CLIENT));
    command.arg("toolchains/run.mjs").args(names);
    run_program(command.env(BINARY_VARIABLE, service))
}

/// Compares the built console with its source, and runs its tests against `service`. The client must
/// be built.
pub(crate) fn test_console(service: &Path) -> Result<()> {
    install(CONSOLE)?;
    for script in CONSOLE_SCRIPTS {
        run_program(npm(CONSOLE, &["run", script]).env(BINARY_VARIABLE, service))?;
    }
    Ok(())
}

/// Installs the libraries of a package.
fn install(folder: &str) -> Result<()> {
    let arguments = ["ci", "--ignore-scripts", "--no-audit", "--no-fund"];
    run_program(&mut npm(folder, &arguments))
}

fn npm(folder: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new("npm");
    command.current_dir(root().join(folder)).args(arguments);
    command
}
