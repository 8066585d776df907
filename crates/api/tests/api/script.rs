//! A reply engine that the test controls step by step. In contrast, the adapter `scripted_engine`
//! follows the message.

use std::time::Duration;

use async_trait::async_trait;
use domain::{FinishReason, Usage};
use futures::{StreamExt as _, stream};
use ports::{ReplyChunk, ReplyEngine, ReplyError, ReplyRequest, ReplyStream, ToolReturn};
use serde_json::Value;
use tokio::sync::{mpsc, oneshot};

/// The timeout of a test that hangs.
const TIMEOUT: Duration = Duration::from_secs(30);

type Step = (Result<ReplyChunk, ReplyError>, oneshot::Sender<()>);

/// The engine's side of a script.
pub(crate) struct PromptedEngine {
    calls: mpsc::UnboundedSender<EngineCall>,
}

/// The test's side of a scripted engine.
pub(crate) struct Script {
    calls: mpsc::UnboundedReceiver<EngineCall>,
}

/// One call of the engine, which the test controls.
pub(crate) struct EngineCall {
    /// The request to the engine.
    pub(crate) request: ReplyRequest,
    steps: mpsc::UnboundedSender<Step>,
}

/// An engine, and the script that controls it.
pub(crate) fn scripted() -> (PromptedEngine, Script) {
    let (sender, receiver) = mpsc::unbounded_channel();
    (PromptedEngine { calls: sender }, Script { calls: receiver })
}

#[async_trait]
impl ReplyEngine for PromptedEngine {
    async fn reply(&self, request: ReplyRequest) -> Result<ReplyStream, ReplyError> {
        let (steps, script) = mpsc::unbounded_channel::<Step>();
        let call = EngineCall { request, steps };
        let gone = |_| ReplyError::Unavailable("the test has ended".into());
        self.calls.send(call).map_err(gone)?;
        // A caller that requests the next chunk has processed the one before.
        let before: Option<oneshot::Sender<()>> = None;
        let chunks = stream::unfold((script, before), |(mut script, before)| async move {
            if let Some(before) = before {
                let _ = before.send(());
            }
            let (chunk, taken) = script.recv().await?;
            Some((chunk, (script, Some(taken))))
        });
        Ok(chunks.boxed())
    }
}

impl Script {
    /// The next call of the engine.
    pub(crate) async fn next_call(&mut self) -> EngineCall {
        let call = tokio::time::timeout(TIMEOUT, self.calls.recv()).await;
        call.expect("the engine is called in time")
            .expect("the engine lives")
    }

    /// Asserts that the engine received only the calls that the test has accepted.
    pub(crate) fn assert_no_more_calls(&mut self) {
        assert!(
            self.calls.try_recv().is_err(),
            "the engine was called again"
        );
    }
}

impl EngineCall {
    /// Sends text, and waits until the service has processed it.
    pub(crate) async fn send_text(&self, text: &str) {
        self.send(ReplyChunk::Delta(text.to_owned())).await;
    }

    /// Calls a slow tool.
    pub(crate) async fn call_tool(&self, name: &str, arguments: &Value) {
        self.send(tool_call_chunk(name, arguments)).await;
    }

    /// Calls a tool, which returns `ok`.
    pub(crate) async fn use_tool(&self, name: &str, arguments: Value) {
        self.call_tool(name, &arguments).await;
        let call = ToolReturn {
            name: name.to_owned(),
            arguments,
            status: "ok".to_owned(),
            duration_ms: 7,
            result: "done".to_owned(),
        };
        self.send(ReplyChunk::ToolReturned(call)).await;
    }

    async fn send(&self, chunk: ReplyChunk) {
        let (taken, was_taken) = oneshot::channel();
        self.steps
            .send((Ok(chunk), taken))
            .expect("a receiver exists");
        let waited = tokio::time::timeout(TIMEOUT, was_taken).await;
        waited
            .expect("the chunk is taken in time")
            .expect("a receiver exists");
    }

    /// Sends text that may have no receiver.
    pub(crate) fn send_text_ignoring_errors(&self, text: &str) {
        self.send_ignoring_errors(ReplyChunk::Delta(text.to_owned()));
    }

    /// Calls a tool, possibly without a receiver.
    pub(crate) fn call_tool_ignoring_errors(&self, name: &str, arguments: &Value) {
        self.send_ignoring_errors(tool_call_chunk(name, arguments));
    }

    fn send_ignoring_errors(&self, chunk: ReplyChunk) {
        let (taken, _) = oneshot::channel();
        let _ = self.steps.send((Ok(chunk), taken));
    }

    /// Ends the reply.
    pub(crate) fn end(self) {
        self.end_with(FinishReason::Stop, None);
    }

    /// Ends the reply with this reason.
    pub(crate) fn end_with(self, finish_reason: FinishReason, usage: Option<Usage>) {
        let (taken, _) = oneshot::channel();
        let end = Ok(ReplyChunk::End {
            finish_reason,
            usage,
        });
        self.steps.send((end, taken)).expect("a receiver exists");
    }

    /// Sends text and ends the reply.
    pub(crate) async fn answer(self, text: &str) {
        self.send_text(text).await;
        self.end();
    }

    /// Fails the call.
    pub(crate) fn fail(self, error: ReplyError) {
        let (taken, _) = oneshot::channel();
        self.steps
            .send((Err(error), taken))
            .expect("a receiver exists");
    }

    /// Waits until the service has dropped the stream.
    pub(crate) async fn wait_until_stopped(&self) {
        let stopped = tokio::time::timeout(TIMEOUT, self.steps.closed()).await;
        stopped.expect("the engine is stopped in time");
    }
}

fn tool_call_chunk(name: &str, arguments: &Value) -> ReplyChunk {
    ReplyChunk::ToolCalled {
        name: name.to_owned(),
        arguments: arguments.as_object().expect("an object").clone(),
    }
}

/// An engine with the same result for each call, before any text.
pub(crate) struct FixedEngine(pub(crate) fn() -> Result<ReplyStream, ReplyError>);

#[async_trait]
impl ReplyEngine for FixedEngine {
    async fn reply(&self, _: ReplyRequest) -> Result<ReplyStream, ReplyError> {
        (self.0)()
    }
}

/// An engine that claims to reply immediately.
pub(crate) struct ImmediateEngine<E>(pub(crate) E);

#[async_trait]
impl<E: ReplyEngine> ReplyEngine for ImmediateEngine<E> {
    fn is_immediate(&self) -> bool {
        true
    }

    async fn reply(&self, request: ReplyRequest) -> Result<ReplyStream, ReplyError> {
        self.0.reply(request).await
    }
}
