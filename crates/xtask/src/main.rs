//! Developer commands: `cargo xtask <command>`.
//!
//! A command starts the project's tools with the right arguments and reports the first failure.
//! No crate of the service is a dependency, so that the commands build within seconds; benchmarks
//! and fault injection are programs of their own, in `crates/dev`. To add a command, give it a file
//! with a `run` function and a variant of [`Task`].

#![expect(clippy::print_stdout, reason = "the terminal is its interface")]

mod arrows;
mod check;
mod clients;
mod compare_documents;
mod openapi;
mod optimised;
mod test;
mod typescript;
mod websocket_cases;

use std::{ffi::OsString, process::ExitCode};

use clap::{Parser, Subcommand};
use dev_tools::process;

/// Developer commands of Agent Service.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct CommandLine {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Run every test of the workspace, with a throw-away Postgres unless `TEST_DATABASE_URL` names
    /// a server, and with third-party client libraries unless `TEST_CLIENTS` names their folder
    Test(test::Options),
    /// Run all checks other than tests: format, arrows, lints, docs, the service without default
    /// features, licences
    Check(check::Options),
    /// Run all checks, then all tests
    Ci {
        /// Install missing requirements (Debian and Ubuntu)
        #[arg(long)]
        install: bool,
    },
    /// Fail on a dependency between crates that the architecture forbids
    Arrows,
    /// Write the service's documents to `openapi.json` and `asyncapi.json`
    Openapi,
    /// Print what one OpenAPI or AsyncAPI document says and another does not
    CompareDocuments(compare_documents::Options),
    /// Measure the service against its baselines; `--help` lists the options
    #[command(disable_help_flag = true)]
    Bench {
        /// Options of the benchmarks
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<OsString>,
    },
    /// Inject faults into the service under load and count losses; `--help` lists the options
    #[command(disable_help_flag = true)]
    Faults {
        /// Options of the fault injection
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<OsString>,
    },
    /// Measure delays, consistency and outages of several regions; `--help` lists the options
    #[command(disable_help_flag = true)]
    Regions {
        /// Options of the measurements
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<OsString>,
    },
    /// Test `GET /api/ws` against the RFC 6455 cases of the Autobahn test suite, and list them
    WebsocketCases,
}

fn main() -> ExitCode {
    let outcome = match CommandLine::parse().task {
        Task::Test(options) => test::run(&options),
        Task::Check(options) => check::run(&options),
        Task::Ci { install } => check::run(&check::Options { install }).and_then(|()| {
            test::run(&test::Options {
                install,
                heavy: false,
                toolchains: false,
                arguments: vec![],
            })
        }),
        Task::Arrows => arrows::run(),
        Task::Openapi => openapi::run(),
        Task::CompareDocuments(options) => compare_documents::run(&options),
        Task::Bench { arguments } => optimised::run("dev_bench", &arguments),
        Task::Faults { arguments } => optimised::run("dev_faults", &arguments),
        Task::Regions { arguments } => optimised::run("dev_regions", &arguments),
        Task::WebsocketCases => websocket_cases::run(),
    };
    process::conclude(outcome)
}

#[cfg(test)]
mod tests {
    use super::*;

    const README: &str = include_str!("../../../README.md");
    const CONTRIBUTING: &str = include_str!("../../../CONTRIBUTING.md");

    /// The words of each command in a document that starts so, up to its comment.
    fn commands<'a>(document: &'a str, start: &str) -> Vec<Vec<&'a str>> {
        let lines = document.split(['\n', '`']);
        let found = lines.filter(|line| line.starts_with(start));
        found
            .map(|line| line.split('#').next().unwrap_or(line))
            .map(|line| line.split_whitespace().collect())
            .collect()
    }

    #[test]
    fn the_readme_begins_with_the_commands_that_run_and_test_everything() {
        let (beginning, _) = README.split_once("\n![").expect("a picture");
        assert_eq!(commands(beginning, "cargo run"), [["cargo", "run"]]);
        let test = commands(beginning, "cargo xtask");
        assert_eq!(test, [["cargo", "xtask", "test", "--install"]]);
    }

    #[test]
    fn every_documented_command_is_understood() {
        let documented = [README, CONTRIBUTING].map(|it| commands(it, "cargo xtask "));
        assert!(documented.iter().all(|commands| !commands.is_empty()));
        for command in documented.concat() {
            if let Err(error) = CommandLine::try_parse_from(&command[1..]) {
                panic!("{command:?}: {error}");
            }
        }
    }
}
