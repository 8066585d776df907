//! The service with the additional engine `scripted`, for tests that kill the real process or need
//! slow turns. It has the command line and the environment of `agent-service`. Do not deploy it:
//! anyone who may chat can make the engine panic.

use std::{process::ExitCode, sync::Arc};

use api::{cli::CommandLine, subcommands, wiring};
use clap::Parser as _;
use scripted_engine::ScriptedEngine;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    subcommands::run(CommandLine::parse(), || {
        let mut engines = wiring::built_in_engines()?;
        engines.insert("scripted".to_owned(), Arc::new(ScriptedEngine::new()));
        Ok(engines)
    })
}
