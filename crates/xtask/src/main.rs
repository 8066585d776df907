//! Developer commands: `cargo xtask <command>`.
//!
//! Nothing of the service may enter here, and the service never depends on this: a command
//! starts the project's tools with the right arguments and says what failed. To add one, give it
//! a file with a `run` function and a line in [`Task`].

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "the terminal is its interface"
)]

mod arrows;
mod bench;
mod check;
mod clients;
mod database;
mod environment;
mod faults;
mod install;
mod openapi;
mod process;
mod rig;
mod steps;
mod test;
mod upstream;
mod websocket_cases;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

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
    /// a server, and with foreign client libraries unless `TEST_CLIENTS` names their folder
    Test(test::Options),
    /// Check everything but the tests: format, lints, docs, arrows, builds, the OpenAPI snapshot
    Check,
    /// Check everything, then test
    Ci {
        /// Install what the tests need and is not there (Debian and Ubuntu)
        #[arg(long)]
        install: bool,
    },
    /// Fail on a dependency between crates that the architecture forbids
    Arrows,
    /// Write the service's documents to `openapi.json` and `asyncapi.json`
    Openapi {
        /// Compare instead of writing
        #[arg(long)]
        check: bool,
    },
    /// Measure the service against what its speed is held against; start what is needed for it
    Bench(bench::Options),
    /// Break the service for real, under load, and count what was lost
    Faults(faults::Options),
    /// Hold `GET /api/ws` to RFC 6455, in the cases of the Autobahn test suite, and list them
    WebsocketCases,
}

fn main() -> ExitCode {
    let outcome = match CommandLine::parse().task {
        Task::Test(options) => test::run(&options),
        Task::Check => check::run(),
        Task::Ci { install } => check::run().and_then(|()| {
            test::run(&test::Options {
                install,
                heavy: false,
                arguments: vec![],
            })
        }),
        Task::Arrows => arrows::run(),
        Task::Openapi { check } => openapi::run(check),
        Task::Bench(options) => bench::run(&options),
        Task::Faults(options) => faults::run(&options),
        Task::WebsocketCases => websocket_cases::run(),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("\nerror: {error:#}");
            process::exit_code_of(&error)
        }
    }
}
