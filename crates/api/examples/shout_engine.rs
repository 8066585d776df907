//! The service with an additional reply engine: `cargo run --example shout_engine`

use std::{process::ExitCode, sync::Arc};

use api::{cli::CommandLine, subcommands, wiring};
use async_trait::async_trait;
use clap::Parser as _;
use domain::FinishReason;
use futures::{StreamExt as _, stream};
use ports::{ReplyChunk, ReplyEngine, ReplyError, ReplyRequest, ReplyStream};

/// An engine that repeats each message in capitals.
pub struct ShoutEngine;

#[async_trait]
impl ReplyEngine for ShoutEngine {
    /// The engine waits for nothing outside the process, so the turn is stored in one write.
    fn is_immediate(&self) -> bool {
        true
    }

    async fn reply(&self, request: ReplyRequest) -> Result<ReplyStream, ReplyError> {
        let shouted = format!("{}!", request.message.to_uppercase());
        let end = ReplyChunk::End {
            finish_reason: FinishReason::Stop,
            usage: None,
        };
        Ok(stream::iter([Ok(ReplyChunk::Delta(shouted)), Ok(end)]).boxed())
    }
}

fn main() -> ExitCode {
    subcommands::run(CommandLine::parse(), || {
        let mut engines = wiring::built_in_engines()?;
        engines.insert("shout".to_owned(), Arc::new(ShoutEngine));
        Ok(engines)
    })
}
