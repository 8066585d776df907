//! The service with an additional reply engine: `cargo run --example shout_engine`

use std::{process::ExitCode, sync::Arc};

use api::{cli::CommandLine, subcommands, wiring};
use async_trait::async_trait;
use clap::Parser as _;
use domain::FinishReason;
use futures::{StreamExt as _, stream};
use ports::{ModelChunk, ModelRequest, ModelStream, ReplyEngine, ReplyError};

/// An engine that repeats each message in capitals.
pub struct ShoutEngine;

#[async_trait]
impl ReplyEngine for ShoutEngine {
    /// The engine waits for nothing outside the process, so the turn is stored in one write.
    fn is_immediate(&self) -> bool {
        true
    }

    async fn request(&self, request: ModelRequest) -> Result<ModelStream, ReplyError> {
        let shouted = format!("{}!", request.message.to_uppercase());
        let end = ModelChunk::End {
            finish_reason: FinishReason::Stop,
            usage: None,
            model: None,
            state: None,
        };
        Ok(stream::iter([Ok(ModelChunk::Text(shouted)), Ok(end)]).boxed())
    }
}

fn main() -> ExitCode {
    subcommands::run(CommandLine::parse(), || {
        let mut engines = wiring::built_in_engines()?;
        engines.insert("shout".to_owned(), Arc::new(ShoutEngine));
        Ok(engines)
    })
}
