//! `agent-service`: the binary.

use std::process::ExitCode;

use api::{cli::CommandLine, subcommands, wiring};
use clap::Parser;

// The memory of closed connections is returned at once; huge pages would cost an idle process
// twenty megabytes.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[tokio::main]
async fn main() -> ExitCode {
    match run().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            use std::io::Write as _;
            let message = ports::error::with_causes(error.as_ref());
            let _ = writeln!(std::io::stderr(), "agent-service: {message}");
            ExitCode::FAILURE
        }
    }
}

async fn run() -> anyhow::Result<()> {
    subcommands::run(CommandLine::parse(), wiring::built_in_engines()?).await
}
