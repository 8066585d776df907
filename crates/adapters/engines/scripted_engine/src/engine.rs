//! The implementation of the port.

use std::{future::pending, time::Duration};

use async_trait::async_trait;
use domain::{AgentConfig, FileKinds, FinishReason};
use futures::{StreamExt as _, stream};
use ports::{ModelChunk, ModelRequest, ModelStream, ReplyEngine, ReplyError, RequestedCall};
use tokio::time::sleep;

use crate::{
    planned_reply::{PlannedReply, ReplyEnd},
    shared_state::{OpenStream, SharedState},
};

/// An engine that follows scripts. A message that is no script is returned, with the types and sizes of the files that
/// the engine receives. Its clones share their state: a service gets one, and the test
/// keeps another.
#[derive(Debug, Clone, Default)]
pub struct ScriptedEngine {
    state: SharedState,
}

impl ScriptedEngine {
    /// Creates an engine with all gates closed.
    pub fn new() -> Self {
        Self::default()
    }

    /// Opens the gate of this name permanently.
    pub fn open(&self, gate: &str) {
        self.state.open(gate);
    }

    /// The number of requests so far.
    pub fn asked(&self) -> usize {
        self.state.read(|data| data.requests)
    }

    /// The number of streams that have neither ended nor been dropped.
    pub fn open_streams(&self) -> usize {
        self.state.read(|data| data.open_streams)
    }

    /// Waits until the engine has received `times` requests in total.
    pub async fn wait_for_calls(&self, times: usize) {
        self.state.wait_until(|data| data.requests >= times).await;
    }

    /// Waits until exactly `number` streams are open.
    pub async fn until_open_streams(&self, number: usize) {
        self.state
            .wait_until(|data| data.open_streams == number)
            .await;
    }
}

#[async_trait]
impl ReplyEngine for ScriptedEngine {
    async fn inputs(&self, _config: &AgentConfig) -> FileKinds {
        FileKinds {
            image: true,
            ..FileKinds::default()
        }
    }

    async fn request(&self, request: ModelRequest) -> Result<ModelStream, ReplyError> {
        self.state.count_request();
        let files = request.files.iter().filter_map(|file| {
            let content = request.file_contents.get(&file.id)?;
            Some(format!(" {}:{}", file.media_type.as_str(), content.len()))
        });
        let files: String = files.collect();
        let plan = PlannedReply::from_message(&format!("{}{files}", request.message));
        let plan = plan.map_err(|error| ReplyError::Rejected(error.into()))?;
        let reasoning = plan.reasoning.clone().map(ModelChunk::Reasoning).map(Ok);
        let rest = match (plan.calls.get(request.steps.len()), plan.end) {
            (Some(functions), _) => calls_of(functions),
            (None, ReplyEnd::Failure(failure)) if plan.fails_at_once => {
                return Err(failure.to_error());
            }
            (None, _) => ReplyPlayer::start(plan, &self.state),
        };
        Ok(stream::iter(reasoning).chain(rest).boxed())
    }
}

/// A response with these calls.
fn calls_of(functions: &[String]) -> ModelStream {
    let calls = functions.iter().map(|function| {
        ModelChunk::ToolCall(RequestedCall {
            function: function.clone(),
            arguments: Some(String::new()),
        })
    });
    let end = ModelChunk::End {
        finish_reason: FinishReason::Stop,
        usage: None,
        model: None,
        state: None,
    };
    let chunks: Vec<_> = calls.chain([end]).map(Ok).collect();
    stream::iter(chunks).boxed()
}

/// The stream of one reply.
struct ReplyPlayer {
    plan: PlannedReply,
    position: usize,
    state: SharedState,
    open_stream: OpenStream,
}

impl ReplyPlayer {
    fn start(plan: PlannedReply, state: &SharedState) -> ModelStream {
        let player = Self {
            plan,
            position: 0,
            state: state.clone(),
            open_stream: state.open_stream(),
        };
        stream::unfold(Some(player), |player| async { player?.next_chunk().await }).boxed()
    }

    /// Returns the next chunk and the rest of the stream.
    async fn next_chunk(mut self) -> Option<(Result<ModelChunk, ReplyError>, Option<Self>)> {
        let plan = &self.plan;
        let at = self.position;
        if at == 0 {
            if let Some(gate) = &plan.gate {
                self.state.until_open(gate).await;
            }
            wait(plan.first_pause).await;
        }
        if at < plan.delta_count {
            if at > 0 {
                wait(plan.pause).await;
            }
            let delta = plan.deltas.delta(at);
            self.position += 1;
            return Some((Ok(delta), Some(self)));
        }
        let last = match plan.end {
            ReplyEnd::End {
                finish_reason,
                usage,
            } => Ok(ModelChunk::End {
                finish_reason,
                usage,
                model: None,
                state: None,
            }),
            ReplyEnd::Failure(failure) => Err(failure.to_error()),
            ReplyEnd::Hang => pending().await,
            ReplyEnd::Panic => panic!("requested by the script"),
        };
        drop(self.open_stream);
        Some((last, None))
    }
}

/// Waits. A timer never completes at once, so an empty pause uses none.
async fn wait(pause: Duration) {
    if !pause.is_zero() {
        sleep(pause).await;
    }
}
