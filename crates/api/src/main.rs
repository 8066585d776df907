//! `agent-service`: the binary.

use std::process::ExitCode;

use api::{cli::CommandLine, subcommands, wiring};
use clap::Parser;

// The memory of closed connections is returned at once; huge pages would cost an idle process
// twenty megabytes.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    subcommands::run(CommandLine::parse(), wiring::built_in_engines)
}
