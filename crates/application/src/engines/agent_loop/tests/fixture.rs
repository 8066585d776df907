//! A model that follows a script, and tools.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::Arc,
    time::Duration,
};

use async_trait::async_trait;
use contract::{fixture, reply_engine::request};
use domain::{FinishReason, MessageId, Problem, ToolCall, Usage};
use futures::{StreamExt as _, future::pending, stream};
use parking_lot::Mutex;
use ports::{
    AgentTool, ModelChunk, ModelRequest, ModelStream, ProvidedTools, ReplyEngine, ReplyError,
    RequestedCall, ToolArguments, ToolContext, ToolDefinition, ToolError, ToolHints, ToolProvider,
};
use serde_json::{Value, json};
use tokio::{sync::Barrier, task::yield_now, time::sleep};

use super::journal_store::RunningTurn;
use crate::{
    engines::{
        BufferedSink, Candidate, Engines, OpenCallStatus, ReplySink as _, TurnOrigin,
        run_engine_chain,
    },
    toolbox::function_names,
};

/// A model with these responses; the last one is repeated.
pub(super) struct Model {
    responses: Mutex<VecDeque<Vec<ModelChunk>>>,
    pub(super) requests: Mutex<Vec<ModelRequest>>,
    /// The time that each response takes.
    time: Duration,
}

#[async_trait]
impl ReplyEngine for Model {
    async fn request(&self, request: ModelRequest) -> Result<ModelStream, ReplyError> {
        self.requests.lock().push(request);
        if !self.time.is_zero() {
            sleep(self.time).await;
        }
        let mut responses = self.responses.lock();
        let response = match responses.len() {
            0 | 1 => responses.front().cloned(),
            _ => responses.pop_front(),
        };
        let chunks = response.unwrap_or_default();
        Ok(stream::iter(chunks.into_iter().map(Ok)).boxed())
    }
}

/// The end of a turn with a [`Model`].
#[derive(Debug)]
pub(super) struct Replied {
    pub(super) end: Result<(FinishReason, Option<Usage>), Problem>,
    pub(super) text: String,
    pub(super) calls: Vec<ToolCall>,
    pub(super) requests: Vec<ModelRequest>,
}

impl Replied {
    /// The name and the status of each call.
    pub(super) fn statuses(&self) -> Vec<(&str, &str)> {
        let calls = self.calls.iter();
        calls.map(|it| (&*it.name, &*it.status)).collect()
    }

    /// The cause of the failure.
    #[track_caller]
    pub(super) fn cause(&self) -> String {
        let problem = self.end.as_ref().expect_err("a failure");
        problem.cause.as_deref().unwrap_or_default().to_owned()
    }
}

impl Model {
    /// A model that takes this time for each of these responses, and the chain of engines with it alone.
    pub(super) fn in_chain(
        time: Duration,
        request: &ModelRequest,
        responses: Vec<Vec<ModelChunk>>,
    ) -> (Arc<Self>, Vec<Candidate>) {
        let model = Arc::new(Self {
            responses: Mutex::new(responses.into()),
            requests: Mutex::default(),
            time,
        });
        let engine: Arc<dyn ReplyEngine> = Arc::<Self>::clone(&model);
        let by_name = BTreeMap::from([("model".to_owned(), engine)]);
        let engines =
            Engines::new(by_name, "model".to_owned(), schemas()).expect("the default exists");
        (model, engines.chain(&request.tenant, &request.agent))
    }
}

/// Replies to a request with a model of these responses.
pub(super) async fn reply(request: ModelRequest, responses: Vec<Vec<ModelChunk>>) -> Replied {
    reply_slowly(Duration::ZERO, request, responses).await
}

/// Replies to a request with a model that takes this time for each of its responses.
pub(super) async fn reply_slowly(
    time: Duration,
    request: ModelRequest,
    responses: Vec<Vec<ModelChunk>>,
) -> Replied {
    let turn = RunningTurn::new(&request);
    let ended = turn.reply_slowly(time, request, responses).await;
    let ended = ended.expect("nobody stops the turn");
    let text = turn.ownership.live.progress().reply.text.clone();
    let end = ended.reply.map(|reply| (reply.finish_reason, reply.usage));
    Replied {
        end,
        text,
        calls: ended.calls,
        requests: ended.requests,
    }
}

/// Replies to a request of an unrecorded chat with a model of these responses. The calls are those of a turn
/// that waits.
pub(super) async fn reply_unrecorded(
    request: ModelRequest,
    responses: Vec<Vec<ModelChunk>>,
) -> Replied {
    let (model, chain) = Model::in_chain(Duration::ZERO, &request, responses);
    let reply_id = MessageId::new(uuid::Uuid::nil());
    let started_by = fixture::principal();
    let sink = BufferedSink::new(TurnOrigin {
        conversation: fixture::conversation_id(1),
        is_stored: false,
        started_by: &started_by,
        credential: None,
        request_id: None,
    });
    let end = run_engine_chain(reply_id, &chain, &request, None, &sink, None).await;
    let end = end.map(|reply| (reply.finish_reason, reply.usage));
    let (text, calls) = sink.with_reply(|reply| {
        let calls = reply.tool_calls(OpenCallStatus::Running);
        (reply.text.clone(), calls)
    });
    let requests = model.requests.lock().clone();
    Replied {
        end,
        text,
        calls,
        requests,
    }
}

pub(super) fn text(text: &str) -> ModelChunk {
    ModelChunk::Text(text.to_owned())
}

pub(super) fn call(function: &str, arguments: &str) -> ModelChunk {
    ModelChunk::ToolCall(RequestedCall {
        function: function.to_owned(),
        arguments: Some(arguments.to_owned()),
    })
}

pub(super) fn end(finish_reason: FinishReason) -> ModelChunk {
    ModelChunk::End {
        finish_reason,
        usage: None,
        model: None,
        state: None,
    }
}

/// A response of these chunks.
pub(super) fn response(chunks: &[ModelChunk]) -> Vec<ModelChunk> {
    let end = [end(FinishReason::Stop)];
    chunks.iter().cloned().chain(end).collect()
}

/// A provider of tools with any name, which records their calls.
#[derive(Default)]
pub(super) struct FakeTools {
    pub(super) calls: Mutex<Vec<(String, Value)>>,
    /// The contexts of the calls, in order.
    pub(super) contexts: Mutex<Vec<ToolContext>>,
    /// The barrier at which tools named `meet` wait for each other.
    pub(super) meeting: Option<Barrier>,
    pub(super) call_timeout: Option<Duration>,
}

impl FakeTools {
    /// The calls and their arguments, in order.
    pub(super) fn calls(&self) -> Vec<(String, Value)> {
        self.calls.lock().clone()
    }
}

#[async_trait]
impl ToolProvider for FakeTools {
    fn provided(&self) -> ProvidedTools {
        ProvidedTools::default()
    }

    fn call_timeout(&self) -> Option<Duration> {
        self.call_timeout
    }

    async fn call(
        &self,
        name: &str,
        arguments: &ToolArguments,
        context: &ToolContext,
    ) -> Result<String, ToolError> {
        self.contexts.lock().push(context.clone());
        let call = (name.to_owned(), Value::Object(arguments.clone()));
        self.calls.lock().push(call);
        match name {
            "refuses" => Err(ToolError::InvalidArguments("no such zone".to_owned())),
            "fails" => Err(ToolError::Failed("the disk is full".to_owned())),
            "away" => Err(ToolError::Unavailable(
                "connection to db:5432 refused".into(),
            )),
            "hangs" => pending().await,
            "sleeps" => {
                let time = arguments["ms"].as_u64().expect("a number");
                sleep(Duration::from_millis(time)).await;
                Ok("slept".to_owned())
            }
            "long" => Ok("🦊".repeat(100_000)),
            "slow" => {
                // Waits until another call has started. They may start in any order.
                while !self.calls().iter().any(|(name, _)| name == "time") {
                    yield_now().await;
                }
                Ok("slow".to_owned())
            }
            "meet" => {
                if let Some(meeting) = &self.meeting {
                    meeting.wait().await;
                }
                Ok("met".to_owned())
            }
            _ => Ok(format!("{name} says \"hello\"")),
        }
    }
}

/// The hints of a tool that changes nothing.
pub(super) const READ_ONLY: ToolHints = ToolHints {
    read_only: Some(true),
    destructive: None,
    idempotent: None,
    is_repeatable: false,
};

/// Gives a tool of a request these hints.
pub(super) fn hint(request: &mut ModelRequest, name: &str, hints: ToolHints) {
    let tools = Arc::get_mut(&mut request.tools).expect("nobody has them yet");
    let mut definitions = tools.iter_mut().map(|tool| &mut tool.definition);
    let definition = definitions.find(|it| it.name == name).expect("the tool");
    Arc::get_mut(definition).expect("nobody has it yet").hints = hints;
}

/// A first message to an agent with these tools.
pub(super) fn request_with(fake_tools: &Arc<FakeTools>, names: &[&str]) -> ModelRequest {
    let functions = function_names(names).into_iter().zip(names);
    let tools = functions.map(|(function, &name)| AgentTool {
        function,
        definition: Arc::new(ToolDefinition {
            name: name.to_owned(),
            description: String::new(),
            input_schema: json!({"type": "object"}),
            hints: ToolHints::default(),
        }),
        provider: Some(Arc::clone(fake_tools) as Arc<dyn ToolProvider>),
    });
    ModelRequest {
        tools: tools.collect(),
        ..request(0)
    }
}

pub(super) fn schemas() -> Arc<dyn ports::SchemaChecker> {
    Arc::new(json_schemas::PooledSchemaChecker::new().expect("threads start"))
}
