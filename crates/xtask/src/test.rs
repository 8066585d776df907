//! `cargo xtask test`: the one command that runs every test.

use std::process::Command;

use anyhow::Result;

use crate::{
    database::{Database, URL_VARIABLE},
    process::{cargo, run as run_program, succeeds},
    steps::Steps,
};

/// What to test, and with what.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Install a Postgres server if there is none (Debian and Ubuntu)
    #[arg(long)]
    pub(crate) install: bool,
    /// Only these tests: arguments of `cargo nextest run`, or of `cargo test` where nextest is
    /// missing
    #[arg(last = true)]
    pub(crate) arguments: Vec<String>,
}

/// Runs the tests; the database that was started for them is gone afterwards.
pub(crate) fn run(options: &Options) -> Result<()> {
    let mut steps = Steps::default();
    let database = steps.take("database", || Database::provide(options.install))?;
    let test = |mut command: Command| run_program(command.env(URL_VARIABLE, database.url()));
    // Before the others, so that the last lines of the output are those of the whole suite.
    if options.arguments.is_empty() {
        steps.take("examples in the documentation", || {
            test(cargo([
                "test",
                "--locked",
                "--quiet",
                "--doc",
                "--workspace",
            ]))
        })?;
    }
    steps.take("tests", || test(suite(&options.arguments)))
}

fn suite(arguments: &[String]) -> Command {
    let mut command = if succeeds(&mut cargo(["nextest", "--version"])) {
        cargo(["nextest", "run", "--locked"])
    } else {
        cargo(["test", "--locked", "--lib", "--bins", "--tests"])
    };
    if !names_a_package(arguments) {
        command.arg("--workspace");
    }
    command.args(arguments);
    command
}

fn names_a_package(arguments: &[String]) -> bool {
    arguments
        .iter()
        .any(|argument| argument.starts_with("-p") || argument.starts_with("--package"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn the_whole_workspace_unless_a_package_is_named() {
        assert!(names_a_package(&words("-p domain")));
        assert!(names_a_package(&words("--package=domain")));
        assert!(!names_a_package(&words("refuses_a_duplicate_id")));
    }
}
