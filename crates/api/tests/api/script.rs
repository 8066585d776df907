//! A reply engine that the test controls step by step. In contrast, the adapter `scripted_engine`
//! follows the message.

use std::{
    collections::{HashMap, VecDeque},
    sync::Arc,
    time::Duration,
};

use async_trait::async_trait;
use domain::{AgentConfig, FileKinds, FinishReason, ModelStep, TurnId, Usage};
use futures::{StreamExt as _, future::pending, stream};
use parking_lot::Mutex;
use ports::{
    CapabilityInfo, CapabilityKind, ModelChunk, ModelRequest, ModelStream, ProvidedTools,
    ReplyEngine, ReplyError, RequestedCall, ToolArguments, ToolContext, ToolDefinition, ToolError,
    ToolHints, ToolProvider,
};
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};

/// The timeout of a test that hangs.
const TIMEOUT: Duration = Duration::from_secs(30);

/// The tools that scripted engines call. They return `done`, except `wait`, which never returns. Only `clock`
/// says that it changes nothing.
pub(crate) const TOOLS: [&str; 6] = ["calculator", "clock", "search", "sum", "time", "wait"];

/// The scripts of turns that wait for the tool `wait`.
static WAITING: Mutex<Vec<Paused>> = Mutex::new(Vec::new());

/// The next chunks of the engine, and the report that the service has processed them.
type Step = (Result<Vec<ModelChunk>, ReplyError>, oneshot::Sender<()>);

/// The engine's side of a script.
pub(crate) struct PromptedEngine {
    calls: mpsc::UnboundedSender<EngineCall>,
    /// The scripts of turns that call tools.
    paused: Arc<Mutex<HashMap<TurnId, Paused>>>,
}

/// The steps of a turn, as of its newest request.
type Steps = Arc<Mutex<Vec<Arc<ModelStep>>>>;

/// A script between two requests of a turn.
struct Paused {
    script: mpsc::UnboundedReceiver<Step>,
    /// Reports that the tools have returned.
    before: oneshot::Sender<()>,
    done: Steps,
}

/// The test's side of a scripted engine.
pub(crate) struct Script {
    calls: mpsc::UnboundedReceiver<EngineCall>,
}

/// The requests of one turn, whose responses the test controls.
pub(crate) struct EngineCall {
    /// The first request to the engine.
    pub(crate) request: ModelRequest,
    steps: mpsc::UnboundedSender<Step>,
    /// The finished steps of the turn.
    done: Steps,
}

/// An engine, and the script that controls it.
pub(crate) fn scripted() -> (PromptedEngine, Script) {
    let (sender, receiver) = mpsc::unbounded_channel();
    let engine = PromptedEngine {
        calls: sender,
        paused: Arc::default(),
    };
    (engine, Script { calls: receiver })
}

#[async_trait]
impl ReplyEngine for PromptedEngine {
    async fn inputs(&self, _config: &AgentConfig) -> FileKinds {
        FileKinds {
            image: true,
            ..FileKinds::default()
        }
    }

    async fn request(&self, request: ModelRequest) -> Result<ModelStream, ReplyError> {
        let turn = request.turn_id;
        let paused = self.paused.lock().remove(&turn);
        let (script, before, done) = if let Some(paused) = paused {
            *paused.done.lock() = request.steps;
            (paused.script, Some(paused.before), paused.done)
        } else {
            let (steps, script) = mpsc::unbounded_channel::<Step>();
            let done = Steps::default();
            let call = EngineCall {
                request,
                steps,
                done: Arc::clone(&done),
            };
            let gone = |_| ReplyError::Unavailable("the test has ended".into());
            self.calls.send(call).map_err(gone)?;
            (script, None, done)
        };
        let player = Player {
            script,
            before,
            chunks: VecDeque::new(),
            turn,
            done,
            paused: Arc::clone(&self.paused),
        };
        Ok(stream::unfold(Some(player), |player| async { player?.next().await }).boxed())
    }
}

/// The response to one request.
struct Player {
    script: mpsc::UnboundedReceiver<Step>,
    before: Option<oneshot::Sender<()>>,
    /// The chunks of the current step.
    chunks: VecDeque<ModelChunk>,
    turn: TurnId,
    done: Steps,
    paused: Arc<Mutex<HashMap<TurnId, Paused>>>,
}

impl Player {
    async fn next(mut self) -> Option<(Result<ModelChunk, ReplyError>, Option<Self>)> {
        if self.chunks.is_empty() {
            // A caller that requests the next chunk has processed the one before.
            if let Some(before) = self.before.take() {
                let _ = before.send(());
            }
            let (chunks, taken) = self.script.recv().await?;
            self.before = Some(taken);
            match chunks {
                Ok(chunks) => self.chunks = chunks.into(),
                Err(error) => return Some((Err(error), Some(self))),
            }
        }
        let chunk = self.chunks.pop_front()?;
        let ModelChunk::ToolCall(call) = &chunk else {
            return Some((Ok(chunk), Some(self)));
        };
        if self.chunks.is_empty() {
            self.chunks.push_back(end(FinishReason::Stop, None));
            let waits = call.function == "wait";
            return Some((Ok(chunk), Some(self.pause(waits))));
        }
        Some((Ok(chunk), Some(self)))
    }

    /// Keeps the script for the next request of the turn; the rest of this response is its end.
    fn pause(self, waits: bool) -> Self {
        let (_, nothing) = mpsc::unbounded_channel();
        let rest = Self {
            script: nothing,
            before: None,
            chunks: self.chunks,
            turn: self.turn,
            done: Arc::clone(&self.done),
            paused: Arc::clone(&self.paused),
        };
        if let Some(before) = self.before {
            let paused = Paused {
                script: self.script,
                before,
                done: self.done,
            };
            if waits {
                WAITING.lock().push(paused);
            } else {
                self.paused.lock().insert(self.turn, paused);
            }
        }
        rest
    }
}

/// The provider of [`TOOLS`].
pub(crate) struct ScriptedTools;

#[async_trait]
impl ToolProvider for ScriptedTools {
    fn provided(&self) -> ProvidedTools {
        let capability = |name: &str| CapabilityInfo {
            name: name.to_owned(),
            kind: CapabilityKind::Tool,
            description: String::new(),
            is_available: true,
        };
        let definition = |name: &str| ToolDefinition {
            name: name.to_owned(),
            description: String::new(),
            input_schema: json!({"type": "object"}),
            hints: ToolHints {
                read_only: (name == "clock").then_some(true),
                ..ToolHints::default()
            },
        };
        ProvidedTools {
            capabilities: TOOLS.map(capability).into(),
            tools: TOOLS.map(|name| Arc::new(definition(name))).into(),
        }
    }

    async fn call(
        &self,
        name: &str,
        _: &ToolArguments,
        _: &ToolContext,
    ) -> Result<String, ToolError> {
        if name != "wait" {
            return Ok("done".to_owned());
        }
        // Dropped with this call.
        let waiting = WAITING.lock().pop();
        let script = waiting.map(|it| {
            let _ = it.before.send(());
            it.script
        });
        let never: Result<String, ToolError> = pending().await;
        drop(script);
        never
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
        self.send(ModelChunk::Text(text.to_owned())).await;
    }

    /// Sends reasoning, and waits until the service has processed it.
    pub(crate) async fn send_reasoning(&self, text: &str) {
        self.send(ModelChunk::Reasoning(text.to_owned())).await;
    }

    /// Calls the tool `wait`, and waits until it runs.
    pub(crate) async fn call_waiting_tool(&self, arguments: &Value) {
        self.send(tool_call("wait", arguments)).await;
    }

    /// Calls a tool, and waits until it has returned.
    pub(crate) async fn use_tool(&self, name: &str, arguments: Value) {
        self.send(tool_call(name, &arguments)).await;
    }

    /// Calls a tool without arguments, and returns the result as the model reads it.
    pub(crate) async fn result_of(&self, name: &str) -> Value {
        self.use_tool(name, json!({})).await;
        let done = self.done.lock();
        let call = done.last().and_then(|step| step.calls.last());
        serde_json::from_str(&call.expect("a call").answer()).expect("JSON")
    }

    /// Calls a tool several times at once, and waits until all calls have returned.
    pub(crate) async fn use_tool_times(&self, times: usize, name: &str, arguments: &Value) {
        self.send_all(vec![tool_call(name, arguments); times]).await;
    }

    /// Calls a tool and ends the response with these token counts. The next request of the turn is a
    /// call of its own.
    pub(crate) fn use_tool_with(self, name: &str, usage: Usage) {
        let (taken, _) = oneshot::channel();
        let chunks = vec![
            tool_call(name, &json!({})),
            end(FinishReason::Stop, Some(usage)),
        ];
        self.steps
            .send((Ok(chunks), taken))
            .expect("a receiver exists");
    }

    async fn send(&self, chunk: ModelChunk) {
        self.send_all(vec![chunk]).await;
    }

    async fn send_all(&self, chunks: Vec<ModelChunk>) {
        let (taken, was_taken) = oneshot::channel();
        self.steps
            .send((Ok(chunks), taken))
            .expect("a receiver exists");
        let waited = tokio::time::timeout(TIMEOUT, was_taken).await;
        waited
            .expect("the chunk is taken in time")
            .expect("a receiver exists");
    }

    /// Sends text that may have no receiver.
    pub(crate) fn send_text_ignoring_errors(&self, text: &str) {
        self.send_ignoring_errors(ModelChunk::Text(text.to_owned()));
    }

    /// Calls a tool, possibly without a receiver.
    pub(crate) fn use_tool_ignoring_errors(&self, name: &str, arguments: &Value) {
        self.send_ignoring_errors(tool_call(name, arguments));
    }

    fn send_ignoring_errors(&self, chunk: ModelChunk) {
        let (taken, _) = oneshot::channel();
        let _ = self.steps.send((Ok(vec![chunk]), taken));
    }

    /// Ends the reply.
    pub(crate) fn end(self) {
        self.end_with(FinishReason::Stop, None);
    }

    /// Ends the reply with this reason.
    pub(crate) fn end_with(self, finish_reason: FinishReason, usage: Option<Usage>) {
        let (taken, _) = oneshot::channel();
        let end = Ok(vec![end(finish_reason, usage)]);
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

fn tool_call(name: &str, arguments: &Value) -> ModelChunk {
    ModelChunk::ToolCall(RequestedCall {
        function: name.to_owned(),
        arguments: Some(arguments.to_string()),
    })
}

fn end(finish_reason: FinishReason, usage: Option<Usage>) -> ModelChunk {
    ModelChunk::End {
        finish_reason,
        usage,
        model: None,
        state: None,
    }
}

/// An engine with the same result for each call, before any text.
pub(crate) struct FixedEngine(pub(crate) fn() -> Result<ModelStream, ReplyError>);

#[async_trait]
impl ReplyEngine for FixedEngine {
    async fn request(&self, _: ModelRequest) -> Result<ModelStream, ReplyError> {
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

    async fn request(&self, request: ModelRequest) -> Result<ModelStream, ReplyError> {
        self.0.request(request).await
    }
}
