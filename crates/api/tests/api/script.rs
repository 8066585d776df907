//! A reply engine that says what the test says, when the test says it. The adapter `scripted_engine`
//! does what the message tells it; this one lets a test go on word by word.

use std::time::Duration;

use async_trait::async_trait;
use domain::{FinishReason, ToolCall, Usage};
use futures::{StreamExt as _, stream};
use ports::{ReplyChunk, ReplyEngine, ReplyError, ReplyRequest, ReplyStream};
use serde_json::Value;
use tokio::sync::{mpsc, oneshot};

/// Long enough for a slow machine, short enough for a test that hangs.
const PATIENCE: Duration = Duration::from_secs(30);

type Step = (Result<ReplyChunk, ReplyError>, oneshot::Sender<()>);

/// The engine's end of a script.
pub(crate) struct PromptedEngine {
    calls: mpsc::UnboundedSender<Call>,
}

/// The test's end of a script.
pub(crate) struct Script {
    calls: mpsc::UnboundedReceiver<Call>,
}

/// One call of the engine, which the test answers.
pub(crate) struct Call {
    /// What the engine was asked.
    pub(crate) request: ReplyRequest,
    steps: mpsc::UnboundedSender<Step>,
}

/// An engine and the script that it follows.
pub(crate) fn scripted() -> (PromptedEngine, Script) {
    let (sender, receiver) = mpsc::unbounded_channel();
    (PromptedEngine { calls: sender }, Script { calls: receiver })
}

#[async_trait]
impl ReplyEngine for PromptedEngine {
    async fn reply(&self, request: ReplyRequest) -> Result<ReplyStream, ReplyError> {
        let (steps, script) = mpsc::unbounded_channel::<Step>();
        let call = Call { request, steps };
        let gone = |_| ReplyError::Unavailable("the test has ended".into());
        self.calls.send(call).map_err(gone)?;
        // Whoever asks for the next chunk has dealt with the one before.
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
    pub(crate) async fn next_call(&mut self) -> Call {
        let call = tokio::time::timeout(PATIENCE, self.calls.recv()).await;
        call.expect("the engine is called in time")
            .expect("the engine lives")
    }

    /// Asserts that the engine was not called but by the calls taken.
    pub(crate) fn assert_no_more_calls(&mut self) {
        assert!(
            self.calls.try_recv().is_err(),
            "the engine was called again"
        );
    }
}

impl Call {
    /// Says something, and waits until the service has dealt with it.
    pub(crate) async fn say(&self, text: &str) {
        self.give(ReplyChunk::Delta(text.to_owned())).await;
    }

    /// Calls a tool, which takes its time.
    pub(crate) async fn call_tool(&self, name: &str, arguments: &Value) {
        self.give(called(name, arguments)).await;
    }

    /// Calls a tool, which answers `ok`.
    pub(crate) async fn use_tool(&self, name: &str, arguments: Value) {
        self.call_tool(name, &arguments).await;
        let call = ToolCall {
            name: name.to_owned(),
            arguments,
            status: "ok".to_owned(),
            duration_ms: 7,
        };
        self.give(ReplyChunk::ToolReturned(call)).await;
    }

    async fn give(&self, chunk: ReplyChunk) {
        let (taken, was_taken) = oneshot::channel();
        self.steps
            .send((Ok(chunk), taken))
            .expect("somebody listens");
        let waited = tokio::time::timeout(PATIENCE, was_taken).await;
        waited
            .expect("the chunk is taken in time")
            .expect("somebody listens");
    }

    /// Says something that nobody may want to hear any more.
    pub(crate) fn say_unheard(&self, text: &str) {
        self.give_unheard(ReplyChunk::Delta(text.to_owned()));
    }

    /// Calls a tool, of which nobody may want to hear any more.
    pub(crate) fn call_unheard(&self, name: &str, arguments: &Value) {
        self.give_unheard(called(name, arguments));
    }

    fn give_unheard(&self, chunk: ReplyChunk) {
        let (taken, _) = oneshot::channel();
        let _ = self.steps.send((Ok(chunk), taken));
    }

    /// Ends the answer.
    pub(crate) fn end(self) {
        self.end_with(FinishReason::Stop, None);
    }

    /// Ends the answer in a certain way.
    pub(crate) fn end_with(self, finish_reason: FinishReason, usage: Option<Usage>) {
        let (taken, _) = oneshot::channel();
        let end = Ok(ReplyChunk::End {
            finish_reason,
            usage,
        });
        self.steps.send((end, taken)).expect("somebody listens");
    }

    /// Says something and ends.
    pub(crate) async fn answer(self, text: &str) {
        self.say(text).await;
        self.end();
    }

    /// Fails.
    pub(crate) fn fail(self, error: ReplyError) {
        let (taken, _) = oneshot::channel();
        self.steps
            .send((Err(error), taken))
            .expect("somebody listens");
    }

    /// Waits until the service has dropped the stream.
    pub(crate) async fn stopped(&self) {
        let stopped = tokio::time::timeout(PATIENCE, self.steps.closed()).await;
        stopped.expect("the engine is stopped in time");
    }
}

fn called(name: &str, arguments: &Value) -> ReplyChunk {
    ReplyChunk::ToolCalled {
        name: name.to_owned(),
        arguments: arguments.as_object().expect("an object").clone(),
    }
}

/// An engine that does the same each time it is asked, before it has said a word.
pub(crate) struct Always(pub(crate) fn() -> Result<ReplyStream, ReplyError>);

#[async_trait]
impl ReplyEngine for Always {
    async fn reply(&self, _: ReplyRequest) -> Result<ReplyStream, ReplyError> {
        (self.0)()
    }
}

/// An engine that claims to answer at once.
pub(crate) struct Immediate<E>(pub(crate) E);

#[async_trait]
impl<E: ReplyEngine> ReplyEngine for Immediate<E> {
    fn is_immediate(&self) -> bool {
        true
    }

    async fn reply(&self, request: ReplyRequest) -> Result<ReplyStream, ReplyError> {
        self.0.reply(request).await
    }
}
