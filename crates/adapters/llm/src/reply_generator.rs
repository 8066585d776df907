//! The reply of one turn: one completion request, or several while the model calls tools.

use std::{borrow::Cow, collections::HashSet, sync::Arc, time::Duration};

use domain::{FinishReason, LlmSettings, TenantId, Usage};
use futures::{StreamExt as _, stream};
use ports::{ReplyChunk, ReplyError, ReplyRequest};
use tokio::time::sleep;

use crate::{
    chunk_sender::ChunkSender,
    client::Upstream,
    dialect::Dialect,
    error::{LlmError, sanitize},
    model_list::ModelList,
    prompt::Prompt,
    reply_writer::ReplyWriter,
    response_accumulator::ResponseAccumulator,
    response_reader::read_response,
    retry_policy::RetryPolicy,
    tools::{Call, CallResult, CheckedCall, SchemaCache, Toolbox, execute},
    wire::{AssistantToolCall, CompletionRequest, FunctionCall, PromptMessage, StreamOptions},
};

/// The maximum number of completions with tool calls in a turn. After them the model must reply
/// without tools.
const MAX_TOOL_ROUNDS: usize = 8;
/// The maximum number of tool calls in a turn.
const MAX_TOOL_CALLS: usize = 16;

/// The state of one reply.
pub(crate) struct ReplyGenerator {
    tenant: TenantId,
    upstream: Arc<Upstream>,
    models: Arc<ModelList>,
    writer: ReplyWriter,
    retry_policy: RetryPolicy,
    toolbox: Toolbox,
    prompt: Prompt,
    model: Option<String>,
    settings: Option<LlmSettings>,
    dialect: Dialect,
    usage: Option<Usage>,
    calls_left: usize,
    /// The ids of all tool calls of the turn so far.
    call_ids: HashSet<String>,
}

impl ReplyGenerator {
    /// Generates the reply to a request and sends its chunks to `sender`. Returns the last chunk.
    pub(crate) async fn run(
        models: Arc<ModelList>,
        schemas: Arc<SchemaCache>,
        request: ReplyRequest,
        sender: ChunkSender,
    ) -> Result<ReplyChunk, ReplyError> {
        let config = &request.agent.config;
        let upstream = Arc::clone(models.upstream());
        let retry_policy = RetryPolicy::new(config.timeout(), upstream.timeouts.pause);
        let toolbox = Toolbox::new(&request.tools, &request.unavailable_tools, &schemas).await;
        let settings = config.llm.clone();
        let model = settings.as_ref().and_then(|llm| llm.model.clone());
        let model = model.or_else(|| upstream.model.clone());
        let generator = Self {
            tenant: request.tenant.clone(),
            writer: ReplyWriter::new(sender),
            retry_policy,
            dialect: upstream.dialects.of(model.as_deref()),
            model,
            settings,
            usage: None,
            calls_left: MAX_TOOL_CALLS,
            call_ids: HashSet::new(),
            prompt: Prompt::new(request, &toolbox.names()),
            toolbox,
            upstream,
            models,
        };
        let (finish_reason, usage) = generator.generate().await?;
        Ok(ReplyChunk::End {
            finish_reason,
            usage,
        })
    }

    async fn generate(mut self) -> Result<(FinishReason, Option<Usage>), LlmError> {
        for round in 0..=MAX_TOOL_ROUNDS {
            let may_call = round < MAX_TOOL_ROUNDS && self.calls_left > 0;
            let mut response = self.complete(may_call).await?;
            self.add_usage(response.usage);
            let finish_reason = response.finish_reason.unwrap_or(FinishReason::Stop);
            // A tool call that was truncated or filtered is not executed.
            let wants_tools = !response.calls.is_empty() && finish_reason == FinishReason::Stop;
            if !wants_tools {
                // Some models, and proxies in front of failed servers, return an empty completion.
                // After a tool call, the text before the call would otherwise count as the whole
                // reply.
                if finish_reason == FinishReason::Stop && response.text.trim().is_empty() {
                    return Err(LlmError::Unusable("the upstream returned an empty reply"));
                }
                return Ok((finish_reason, self.usage));
            }
            if !may_call {
                break;
            }
            let calls = std::mem::take(&mut response.calls).into_calls(&mut self.call_ids);
            self.execute_calls(response, calls).await;
            self.writer.start_paragraph();
        }
        Err(LlmError::Unusable(
            "the model exceeded the limit of tool calls",
        ))
    }

    /// Requests a completion, with retries, and reads the response.
    async fn complete(&mut self, may_call: bool) -> Result<ResponseAccumulator, LlmError> {
        let first_dialect = self.dialect;
        let mut request = self.request(may_call)?;
        loop {
            let mut response = ResponseAccumulator::default();
            let error = match self.send_once(&request, &mut response).await {
                Ok(()) => {
                    if self.dialect != first_dialect {
                        let dialects = &self.upstream.dialects;
                        dialects.remember(self.model.as_deref(), self.dialect);
                    }
                    return Ok(response);
                }
                Err(error) => error,
            };
            if let LlmError::UpstreamError(refusal) = &error
                && let Some(dialect) =
                    (self.upstream.dialects).after_refusal(first_dialect, self.dialect, refusal)
            {
                self.dialect = dialect;
                self.log_refusal(&error);
                request = self.request(may_call)?;
                continue;
            }
            if error.is_not_found() {
                self.log_not_found(&error);
            }
            if response.has_output() {
                return Err(error);
            }
            let Some(pause) = self.retry_policy.next_pause(&error) else {
                return Err(error);
            };
            self.log_retry(&error, pause);
            sleep(pause).await;
        }
    }

    async fn send_once(
        &mut self,
        request: &reqwest::Request,
        response: &mut ResponseAccumulator,
    ) -> Result<(), LlmError> {
        let reply = self.upstream.send(request).await?;
        read_response(reply, &self.models, response, &mut self.writer).await
    }

    /// Logs an unknown path or model: either is probably a mistake in the configuration of the
    /// server or of an agent.
    fn log_not_found(&self, error: &LlmError) {
        tracing::warn!(
            engine = self.upstream.engine,
            error = ports::error::one_line(error),
            path = self.upstream.path(),
            model = self.model.as_deref().map(sanitize),
            "LLM server returned 404: unknown path or model; check the base URL and the model name"
        );
    }

    fn log_refusal(&self, error: &LlmError) {
        tracing::info!(
            engine = self.upstream.engine,
            error = ports::error::one_line(error),
            model = self.model.as_deref().map(sanitize),
            stream_options = self.dialect.stream_options,
            max_completion_tokens = self.dialect.max_completion_tokens,
            "LLM server refused a parameter; repeating the request without it"
        );
    }

    fn log_retry(&self, error: &LlmError, pause: Duration) {
        let pause_ms = pause.as_secs_f64() * 1000.0;
        tracing::info!(
            engine = self.upstream.engine,
            error = ports::error::one_line(error),
            pause_ms,
            "LLM request failed; retrying"
        );
    }

    fn request(&self, may_call: bool) -> Result<reqwest::Request, LlmError> {
        let tools = self.toolbox.functions();
        let has_stream_options = self.upstream.streams && self.dialect.stream_options;
        let request = CompletionRequest {
            model: self.model.as_deref(),
            messages: &self.prompt,
            stream: self.upstream.streams,
            stream_options: has_stream_options.then_some(StreamOptions {
                include_usage: true,
            }),
            settings: &Upstream::settings(self.settings.as_ref(), self.dialect),
            tools,
            tool_choice: self.upstream.tool_choice(may_call, !tools.is_empty()),
        };
        let body = serde_json::to_vec(&request)
            .map_err(|_error| LlmError::Malformed("the request cannot be serialized"))?;
        Ok(self.upstream.completion_request(body))
    }

    /// Adds to the token usage of the turn.
    fn add_usage(&mut self, usage: Option<Usage>) {
        if let Some(more) = usage {
            let before = self.usage.unwrap_or(Usage {
                input_tokens: 0,
                output_tokens: 0,
            });
            self.usage = Some(Usage {
                input_tokens: before.input_tokens.saturating_add(more.input_tokens),
                output_tokens: before.output_tokens.saturating_add(more.output_tokens),
            });
        }
    }

    /// Executes the tool calls of a completion concurrently, reports them in their order, and adds
    /// their results to the messages of the next request.
    async fn execute_calls(&mut self, response: ResponseAccumulator, calls: Vec<Call>) {
        let mut checked_calls = Vec::new();
        for call in &calls {
            let checked = CheckedCall::new(call, &self.toolbox, self.calls_left > 0);
            self.calls_left = self.calls_left.saturating_sub(1);
            self.writer
                .send_tool_step(ReplyChunk::ToolCalled {
                    name: checked.name.clone(),
                    arguments: checked.arguments.clone(),
                })
                .await;
            checked_calls.push(checked);
        }
        let content = self.upstream.assistant_content(response.text);
        self.prompt.push(PromptMessage::Assistant {
            content: content.map(Cow::Owned),
            reasoning_content: Some(response.reasoning).filter(|reasoning| !reasoning.is_empty()),
            tool_calls: calls.iter().map(|call| self.to_wire_call(call)).collect(),
        });
        let timeout = self.upstream.timeouts.tool;
        let mut results = stream::iter(checked_calls)
            .map(|call| execute(&self.tenant, call, timeout))
            .buffered(MAX_TOOL_CALLS);
        for call in calls {
            let Some(CallResult { record, content }) = results.next().await else {
                break;
            };
            self.writer
                .send_tool_step(ReplyChunk::ToolReturned(record))
                .await;
            self.prompt.push(PromptMessage::Tool {
                tool_call_id: call.id,
                content,
            });
        }
    }

    /// Converts a tool call for the next request. Some servers reject names with other characters, and
    /// arguments that are not a JSON object, even if the model wrote them.
    fn to_wire_call(&self, call: &Call) -> AssistantToolCall {
        let parsed = serde_json::from_str::<serde_json::Map<_, serde_json::Value>>(&call.arguments);
        let arguments = match parsed {
            Ok(_) => call.arguments.clone(),
            Err(_) => "{}".to_owned(),
        };
        AssistantToolCall {
            id: call.id.clone(),
            kind: "function",
            function: FunctionCall {
                name: self.toolbox.function_name(&call.name),
                arguments,
            },
            extra_content: call.extra_content.clone(),
        }
    }
}
