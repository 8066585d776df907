//! `cargo xtask check`: everything that can be said of the code without running its tests.

use std::process::Command;

use anyhow::Result;

use crate::{
    arrows, openapi,
    process::{cargo, run as run_program, succeeds},
    steps::Steps,
};

/// Runs every check and stops at the first that fails.
pub(crate) fn run() -> Result<()> {
    let mut steps = Steps::default();
    steps.take("format", || {
        run_program(&mut cargo(["fmt", "--all", "--check"]))
    })?;
    steps.take("arrows", arrows::run)?;
    steps.take("lints", || run_program(&mut lints()))?;
    steps.take("docs", || run_program(&mut documentation()))?;
    steps.take("build without default features", || {
        run_program(&mut minimal_build())
    })?;
    steps.take("snapshots of the documents", || openapi::run(true))?;
    if succeeds(Command::new("cargo").args(["deny", "--version"])) {
        steps.take("licences and sources", || run_program(&mut licences()))?;
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

/// What may not be shipped everywhere is behind a default feature; the rest must stand alone.
fn minimal_build() -> Command {
    cargo([
        "build",
        "--locked",
        "--package",
        "agent-service",
        "--no-default-features",
    ])
}

/// Advisories are left out: they need a database from the network and change without the code.
fn licences() -> Command {
    cargo(["deny", "check", "licenses", "bans", "sources"])
}
