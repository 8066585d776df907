//! `agent-service`: the binary.

use std::process::ExitCode;

use api::{cli::CommandLine, commands};
use clap::Parser;

// Memory of closed connections goes back to the pool at once, and huge pages would cost an idle
// process twenty megabytes.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[tokio::main]
async fn main() -> ExitCode {
    // One TLS and crypto provider in the process; a second call would be a mistake in wiring.
    let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
    match commands::run(CommandLine::parse()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            use std::io::Write as _;
            let _ = writeln!(std::io::stderr(), "agent-service: {error:#}");
            ExitCode::FAILURE
        }
    }
}
