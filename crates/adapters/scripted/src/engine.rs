//! The engine: performances on a stage.

use std::{future::pending, time::Duration};

use async_trait::async_trait;
use futures::{StreamExt as _, stream};
use ports::{ReplyChunk, ReplyEngine, ReplyError, ReplyRequest, ReplyStream};
use tokio::time::sleep;

use crate::{
    performance::{Ending, Performance},
    stage::{Presence, Stage},
};

/// The engine that follows scripts. Its clones are one and the same engine: a service is given one
/// of them, and the test keeps another.
#[derive(Debug, Clone, Default)]
pub struct ScriptedEngine {
    stage: Stage,
}

impl ScriptedEngine {
    /// An engine that was never asked, with all gates shut.
    pub fn new() -> Self {
        Self::default()
    }

    /// Opens the gate of this name, for good.
    pub fn open(&self, gate: &str) {
        self.stage.open(gate);
    }

    /// How often it was asked.
    pub fn asked(&self) -> usize {
        self.stage.now(|scene| scene.asked)
    }

    /// How many of its streams have neither ended nor been dropped.
    pub fn open_streams(&self) -> usize {
        self.stage.now(|scene| scene.open_streams)
    }

    /// Waits until it was asked so many times in all.
    pub async fn until_asked(&self, times: usize) {
        self.stage.until(|scene| scene.asked >= times).await;
    }

    /// Waits until just so many of its streams live.
    pub async fn until_open_streams(&self, number: usize) {
        self.stage.until(|scene| scene.open_streams == number).await;
    }
}

#[async_trait]
impl ReplyEngine for ScriptedEngine {
    async fn reply(&self, request: ReplyRequest) -> Result<ReplyStream, ReplyError> {
        self.stage.note_question();
        let performance = Performance::of(&request.message);
        let performance = performance.map_err(|bad| ReplyError::Refused(bad.into()))?;
        match performance.ending {
            Ending::Failure(failure) if performance.fails_at_once => Err(failure.to_error()),
            _ => Ok(Playing::begin(performance, &self.stage)),
        }
    }
}

/// A performance that is under way.
struct Playing {
    performance: Performance,
    position: usize,
    stage: Stage,
    presence: Presence,
}

impl Playing {
    fn begin(performance: Performance, stage: &Stage) -> ReplyStream {
        let playing = Self {
            performance,
            position: 0,
            stage: stage.clone(),
            presence: stage.enter(),
        };
        stream::unfold(Some(playing), |playing| async { playing?.step().await }).boxed()
    }

    /// The next piece of the answer, and what is left to play after it.
    async fn step(mut self) -> Option<(Result<ReplyChunk, ReplyError>, Option<Self>)> {
        let performance = &self.performance;
        let at = self.position;
        if at == 0 {
            if let Some(gate) = &performance.gate {
                self.stage.until_open(gate).await;
            }
            wait(performance.first_pause).await;
        }
        if at < performance.said {
            if at > 0 {
                wait(performance.pause).await;
            }
            let delta = performance.lines.delta(at);
            self.position += 1;
            return Some((Ok(delta), Some(self)));
        }
        let last = match performance.ending {
            Ending::End {
                finish_reason,
                usage,
            } => Ok(ReplyChunk::End {
                finish_reason,
                usage,
            }),
            Ending::Failure(failure) => Err(failure.to_error()),
            Ending::Hang => pending().await,
            Ending::Panic => panic!("as the script wants"),
        };
        drop(self.presence);
        Some((last, None))
    }
}

/// The timer of the runtime never rings at once, so a pause of nothing goes without it.
async fn wait(pause: Duration) {
    if !pause.is_zero() {
        sleep(pause).await;
    }
}
