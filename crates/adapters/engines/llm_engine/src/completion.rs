//! One completion request, with its retries.

use std::{sync::Arc, time::Duration};

use domain::{
    FileKinds, FinishReason, LlmSettings, ReasoningEffort, ResponseSchema, ShowReasoning,
};
use ports::{ModelChunk, ModelRequest, ReplyError, RequestedCall, ToolUse};
use tokio::time::sleep;

use crate::{
    chunk_sender::ChunkSender,
    client::Upstream,
    demands::Demands,
    dialect::Dialect,
    error::{LlmError, sanitize},
    model_list::ModelList,
    prompt::Prompt,
    response_accumulator::ResponseAccumulator,
    response_reader::read_response,
    retry_policy::RetryPolicy,
    step_state,
};

/// The state of one request.
pub(crate) struct Completion {
    upstream: Arc<Upstream>,
    models: Arc<ModelList>,
    sender: ChunkSender,
    retry_policy: RetryPolicy,
    prompt: Prompt,
    may_call: bool,
    tool_use: ToolUse,
    response_schema: Option<ResponseSchema>,
    model: Option<String>,
    settings: Option<LlmSettings>,
    dialect: Dialect,
}

impl Completion {
    /// Sends a request and the chunks of its response to `sender`. Returns the last chunk.
    pub(crate) async fn run(
        models: Arc<ModelList>,
        request: ModelRequest,
        sender: ChunkSender,
    ) -> Result<ModelChunk, ReplyError> {
        let config = &request.agent.config;
        let upstream = Arc::clone(models.upstream());
        let retry_policy = RetryPolicy::new(config.timeout(), upstream.timeouts.pause);
        let settings = config.llm.clone();
        let model = upstream.model_of(config);
        // The list of models may have to be fetched.
        let inputs = if request.file_contents.is_empty() {
            FileKinds::default()
        } else {
            models.inputs(model.as_deref()).await
        };
        let completion = Self {
            sender,
            retry_policy,
            dialect: upstream.dialects.of(model.as_deref()),
            model,
            settings,
            may_call: request.may_call,
            tool_use: request.tool_use.clone(),
            response_schema: request.response_schema.clone(),
            prompt: Prompt::new(request, inputs),
            upstream,
            models,
        };
        Ok(completion.finish().await?)
    }

    /// Sends the request, its text and its tool calls, and returns the end of the response.
    async fn finish(mut self) -> Result<ModelChunk, LlmError> {
        let response = self.complete().await?;
        let mut taken = step_state::call_ids(&self.prompt.steps);
        let calls = response.calls.into_calls(&mut taken);
        let state = step_state::of(&response.reasoning, &response.kept, &calls);
        for call in calls {
            let asked = RequestedCall {
                function: call.name,
                arguments: (!call.lacks_arguments).then_some(call.arguments),
            };
            self.sender.send(ModelChunk::ToolCall(asked)).await;
        }
        Ok(ModelChunk::End {
            finish_reason: response.finish_reason.unwrap_or(FinishReason::Stop),
            usage: response.usage,
            model: response.model,
            state,
        })
    }

    /// Requests a completion, with retries, and reads the response.
    async fn complete(&mut self) -> Result<ResponseAccumulator, LlmError> {
        let first_dialect = self.dialect;
        let (shows_reasoning, mut has_shown_reasoning) = (self.shows_reasoning(), false);
        loop {
            // Not kept for a repetition: with files it may have many megabytes.
            let request = self.request()?;
            let mut response = if shows_reasoning {
                ResponseAccumulator::showing_reasoning(has_shown_reasoning)
            } else {
                ResponseAccumulator::default()
            };
            let error = match self.send_once(request, &mut response).await {
                Ok(()) => {
                    if self.dialect != first_dialect {
                        let dialects = &self.upstream.dialects;
                        dialects.remember(self.model.as_deref(), self.dialect);
                    }
                    return Ok(response);
                }
                Err(error) => error,
            };
            has_shown_reasoning |= response.has_shown_reasoning;
            if let LlmError::UpstreamError(refusal) = &error
                && let Some(dialect) = self.upstream.dialects.after_refusal(
                    first_dialect,
                    self.dialect,
                    self.settings.as_ref(),
                    refusal,
                )
            {
                self.dialect = dialect;
                self.log_refusal(&error);
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

    /// Returns whether somebody may see the reasoning. Nobody, if only a newer version knows the value.
    fn shows_reasoning(&self) -> bool {
        let settings = self.settings.as_ref();
        let shown = settings.and_then(|settings| settings.show_reasoning);
        matches!(shown, Some(ShowReasoning::Staff | ShowReasoning::Everyone))
    }

    async fn send_once(
        &mut self,
        request: reqwest::Request,
        response: &mut ResponseAccumulator,
    ) -> Result<(), LlmError> {
        let reply = self.upstream.send(request).await?;
        read_response(reply, &self.models, response, &self.sender).await
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
        let effort = self.dialect.effort_for(self.settings.as_ref());
        tracing::info!(
            engine = self.upstream.engine,
            error = ports::error::one_line(error),
            model = self.model.as_deref().map(sanitize),
            stream_options = self.dialect.stream_options,
            max_completion_tokens = self.dialect.max_completion_tokens,
            reasoning_effort = effort.as_ref().map(ReasoningEffort::as_str),
            "LLM server refused a parameter; repeating the request without it or with another value"
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

    fn request(&self) -> Result<reqwest::Request, LlmError> {
        let (upstream, settings) = (&self.upstream, self.settings.as_ref());
        let demands = Demands {
            model: self.model.as_deref(),
            streams: upstream.streams,
            settings,
            dialect: self.dialect,
            shows_reasoning: self.shows_reasoning(),
            may_call: self.may_call,
            tool_use: &self.tool_use,
            schema: self.response_schema.as_ref(),
            extra_body: upstream.extra_body.members(settings),
        };
        let body = upstream.api.request_body(&self.prompt, &demands);
        let malformed = |_error| LlmError::Malformed("the request cannot be serialized");
        Ok(upstream.reply_request(body.map_err(malformed)?))
    }
}
