//! The service with the engine `scripted` beside its own, for tests that kill the real process or
//! need its turns to take their time. It takes the command line and the environment of
//! `agent-service`; never ship it, for whoever may chat can make the engine panic.

use std::sync::Arc;

use api::{cli::CommandLine, commands, wiring};
use clap::Parser as _;
use scripted_engine::ScriptedEngine;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let mut engines = wiring::built_in_engines()?;
    engines.insert("scripted".to_owned(), Arc::new(ScriptedEngine::new()));
    commands::run(CommandLine::parse(), engines).await
}
