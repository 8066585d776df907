//! An answer: one question, or as many as it takes while the model calls tools.

use std::{collections::HashSet, sync::Arc, time::Duration};

use domain::{FinishReason, Usage};
use futures::{StreamExt as _, stream};
use ports::{ReplyChunk, ReplyError, ReplyRequest};
use tokio::time::sleep;

use crate::{
    client::Upstream,
    fault::{Fault, shown},
    heard::Heard,
    listen::listen,
    patience::Patience,
    prompt::prompt,
    speech::Speech,
    tools::{Call, Carried, Judged, Schemas, Toolbox, carry_out},
    voice::Voice,
    wire::{CallMade, FunctionCalled, PromptMessage, Question, Settings, StreamOptions},
};

/// How often the model may call tools in a turn; then it has to answer with what it knows.
const MOST_ROUNDS: usize = 8;
/// How many calls a turn may make.
const MOST_CALLS: usize = 16;

/// What one turn is answered with.
pub(crate) struct Answering {
    upstream: Arc<Upstream>,
    speech: Speech,
    patience: Patience,
    toolbox: Toolbox,
    messages: Vec<PromptMessage>,
    model: Option<String>,
    settings: Settings,
    usage: Option<Usage>,
    calls_left: usize,
    /// By which the calls so far are told apart.
    call_ids: HashSet<String>,
}

impl Answering {
    /// Answers a request.
    pub(crate) async fn answer(
        upstream: Arc<Upstream>,
        schemas: Arc<Schemas>,
        request: ReplyRequest,
        voice: Voice,
    ) -> Result<ReplyChunk, ReplyError> {
        let config = &request.agent.config;
        let patience = Patience::new(config.timeout(), upstream.times.pause);
        let toolbox = Toolbox::of(&request.tools, &request.unavailable_tools, &schemas).await;
        let messages = prompt(&request, &toolbox.names());
        let llm = config.llm.as_ref();
        let model = llm.and_then(|llm| llm.model.clone());
        let answering = Self {
            speech: Speech::new(voice),
            patience,
            toolbox,
            messages,
            model: model.or_else(|| upstream.model.clone()),
            settings: upstream.settings(llm),
            usage: None,
            calls_left: MOST_CALLS,
            call_ids: HashSet::new(),
            upstream,
        };
        drop(request);
        let (finish_reason, usage) = answering.talk().await?;
        Ok(ReplyChunk::End {
            finish_reason,
            usage,
        })
    }

    async fn talk(mut self) -> Result<(FinishReason, Option<Usage>), Fault> {
        for round in 0..=MOST_ROUNDS {
            let may_call = round < MOST_ROUNDS && self.calls_left > 0;
            let mut heard = self.ask(may_call).await?;
            self.count(heard.usage);
            let finish_reason = heard.finish_reason.unwrap_or(FinishReason::Stop);
            // A call that was cut short, or filtered, is not carried out.
            let wants_tools = !heard.calls.is_empty() && finish_reason == FinishReason::Stop;
            if !wants_tools {
                // Some models, and proxies before servers that failed, say so that they have no
                // answer; one in which a tool was called would pass for what was said before it.
                if finish_reason == FinishReason::Stop && heard.text.trim().is_empty() {
                    return Err(Fault::Useless("the upstream's answer is without a word"));
                }
                return Ok((finish_reason, self.usage));
            }
            if !may_call {
                break;
            }
            let calls = std::mem::take(&mut heard.calls).into_calls(&mut self.call_ids);
            self.use_tools(heard, calls).await;
            self.speech.begin_anew();
        }
        Err(Fault::Useless("the upstream calls tools without end"))
    }

    /// Puts the question, again if need be, and hears its answer.
    async fn ask(&mut self, may_call: bool) -> Result<Heard, Fault> {
        let question = self.upstream.question(self.body(may_call)?);
        loop {
            let mut heard = Heard::default();
            let fault = match self.hear(&question, &mut heard).await {
                Ok(()) => return Ok(heard),
                Err(fault) => fault,
            };
            if fault.is_of_something_unknown() {
                self.tell_of_something_unknown(&fault);
            }
            if heard.has_begun() {
                return Err(fault);
            }
            let Some(pause) = self.patience.pause_after(&fault) else {
                return Err(fault);
            };
            self.tell_of_repeat(&fault, pause);
            sleep(pause).await;
        }
    }

    async fn hear(&mut self, question: &reqwest::Request, heard: &mut Heard) -> Result<(), Fault> {
        let upstream = &self.upstream;
        let answer = upstream.put(question).await?;
        let (times, key) = (&upstream.times, upstream.key());
        listen(answer, times, key, heard, &mut self.speech).await
    }

    /// For the operator, who may have misspelt the one, or want to know who asks for the other.
    fn tell_of_something_unknown(&self, fault: &Fault) {
        tracing::warn!(
            engine = self.upstream.engine,
            error = ports::error::chain(fault),
            path = self.upstream.path(),
            model = self.model.as_deref().map(shown),
            "the upstream knows no such path, or no such model"
        );
    }

    fn tell_of_repeat(&self, fault: &Fault, pause: Duration) {
        let pause_ms = pause.as_secs_f64() * 1000.0;
        tracing::info!(
            engine = self.upstream.engine,
            error = ports::error::chain(fault),
            pause_ms,
            "the upstream is asked again"
        );
    }

    fn body(&self, may_call: bool) -> Result<Vec<u8>, Fault> {
        let tools = self.toolbox.functions();
        let question = Question {
            model: self.model.as_deref(),
            messages: &self.messages,
            stream: self.upstream.streams,
            stream_options: self.upstream.streams.then_some(StreamOptions {
                include_usage: true,
            }),
            settings: &self.settings,
            tools,
            tool_choice: self.upstream.tool_choice(may_call, !tools.is_empty()),
        };
        serde_json::to_vec(&question).map_err(|_fault| Fault::Malformed("the question is no JSON"))
    }

    /// The tokens of all questions together.
    fn count(&mut self, usage: Option<Usage>) {
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

    /// Carries out the calls of a round all at once, tells of them in their order, and leaves what
    /// they brought for the next question.
    async fn use_tools(&mut self, heard: Heard, calls: Vec<Call>) {
        let mut judged = Vec::new();
        for call in &calls {
            let verdict = Judged::of(call, &self.toolbox, self.calls_left > 0);
            self.calls_left = self.calls_left.saturating_sub(1);
            self.speech
                .tell(ReplyChunk::ToolCalled {
                    name: verdict.name.clone(),
                    arguments: verdict.arguments.clone(),
                })
                .await;
            judged.push(verdict);
        }
        self.messages.push(PromptMessage::Assistant {
            content: self.upstream.said_beside_calls(heard.text),
            reasoning_content: Some(heard.reasoning).filter(|thoughts| !thoughts.is_empty()),
            tool_calls: calls.iter().map(said_back).collect(),
        });
        let time = self.upstream.times.tool;
        let mut carried = stream::iter(judged)
            .map(|judged| carry_out(judged, time))
            .buffered(MOST_CALLS);
        for call in calls {
            let Some(Carried { record, answer }) = carried.next().await else {
                break;
            };
            self.speech.tell(ReplyChunk::ToolReturned(record)).await;
            self.messages.push(PromptMessage::Tool {
                tool_call_id: call.id,
                content: answer,
            });
        }
    }
}

/// A call as it is told back to the model: some servers refuse arguments that are no JSON object,
/// even if the model wrote them.
fn said_back(call: &Call) -> CallMade {
    let is_object = serde_json::from_str::<serde_json::Map<_, serde_json::Value>>(&call.arguments);
    let arguments = match is_object {
        Ok(_) => call.arguments.clone(),
        Err(_) => "{}".to_owned(),
    };
    CallMade {
        id: call.id.clone(),
        kind: "function",
        function: FunctionCalled {
            name: call.name.clone(),
            arguments,
        },
        extra_content: call.extra_content.clone(),
    }
}
