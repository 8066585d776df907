//! `cargo xtask check`: all checks other than tests.

use std::process::Command;

use anyhow::Result;
use dev_tools::{
    process::{cargo, run as run_program, succeeds},
    steps::Steps,
};

use crate::{arrows, clients, typescript};

/// Options of `cargo xtask check`.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Install Node.js where it is missing (Debian and Ubuntu)
    #[arg(long)]
    pub(crate) install: bool,
}

/// Runs every check and stops at the first that fails.
pub(crate) fn run(options: &Options) -> Result<()> {
    let mut steps = Steps::default();
    steps.run("format", || {
        run_program(&mut cargo(["fmt", "--all", "--check"]))
    })?;
    steps.run("TypeScript", || {
        clients::provide_node(options.install)?;
        typescript::check_style()
    })?;
    steps.run("arrows", arrows::run)?;
    steps.run("lints", || run_program(&mut lints()))?;
    steps.run("docs", || run_program(&mut documentation()))?;
    steps.run("no default features", || {
        run_program(&mut without_default_features())
    })?;
    if succeeds(Command::new("cargo").args(["deny", "--version"])) {
        steps.run("licences and sources", || run_program(&mut licences()))?;
    }
    steps.print_summary();
    Ok(())
}

fn lints() -> Command {
    cargo([
        "clippy",
        "--locked",
        "--workspace",
        "--all-targets",
        "--",
        "-D",
        "warnings",
    ])
}

fn documentation() -> Command {
    let mut command = cargo(["doc", "--locked", "--workspace", "--no-deps"]);
    command.env("RUSTDOCFLAGS", "-D warnings");
    command
}

/// Checks the service without default features, which contain everything that not every
/// distribution may contain.
fn without_default_features() -> Command {
    cargo([
        "check",
        "--locked",
        "--package",
        "api",
        "--no-default-features",
    ])
}

/// Checks licences and sources. Advisories need a database from the network and change without the
/// code.
fn licences() -> Command {
    cargo(["deny", "check", "licenses", "bans", "sources"])
}
