//! `agent-service`: the binary.

use std::{io, process::ExitCode};

use api::{cli::CommandLine, subcommands, wiring};
use clap::Parser;

// The memory of closed connections is returned at once; huge pages would cost an idle process
// twenty megabytes.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> io::Result<ExitCode> {
    let engines = wiring::built_in_engines()?;
    Ok(subcommands::run(CommandLine::parse(), engines))
}
