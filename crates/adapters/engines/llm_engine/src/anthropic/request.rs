//! Requests.

use std::collections::BTreeMap;

use domain::{LlmSettings, ReasoningEffort};
use ports::ToolChoice;
use serde::Serialize;
use serde_json::{Value, json};

use super::{
    messages::{CacheControl, Message, TextBlock, messages, system},
    schema::accepted_schema,
};
use crate::{
    base64_text,
    demands::Demands,
    prompt::{Prompt, object_schema},
};

/// The limit of tokens of agents that have none: the interface requires one.
const DEFAULT_MAX_TOKENS: u32 = 8192;

#[derive(Serialize)]
struct MessagesRequest<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<&'a str>,
    max_tokens: u32,
    stream: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tool<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<Value>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    system: Vec<TextBlock<'a>>,
    messages: Vec<Message<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    stop_sequences: Vec<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking: Option<Thinking>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output_config: Option<OutputConfig>,
    #[serde(flatten)]
    extra_body: &'a BTreeMap<&'a str, &'a Value>,
}

#[derive(Serialize)]
struct Tool<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    description: &'a str,
    input_schema: Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_control: Option<CacheControl>,
}

#[derive(Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
enum Thinking {
    Disabled,
    Adaptive { display: &'static str },
}

#[derive(Serialize)]
struct OutputConfig {
    #[serde(skip_serializing_if = "Option::is_none")]
    effort: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    format: Option<Format>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Format {
    JsonSchema { schema: Value },
}

/// Returns the body of a request.
pub(crate) fn request_body(prompt: &Prompt, demands: &Demands<'_>) -> serde_json::Result<Vec<u8>> {
    let settings = demands.settings;
    let tools = tools(prompt);
    let (thinking, effort) = thinking(demands);
    let format = demands.schema.map(|schema| Format::JsonSchema {
        schema: accepted_schema(schema.value()),
    });
    let has_config = effort.is_some() || format.is_some();
    let request = MessagesRequest {
        model: demands.model,
        max_tokens: settings
            .and_then(|it| it.max_output_tokens)
            .unwrap_or(DEFAULT_MAX_TOKENS),
        stream: demands.streams,
        tool_choice: (!tools.is_empty()).then(|| tool_choice(demands)).flatten(),
        tools,
        system: system(prompt),
        messages: messages(prompt),
        stop_sequences: stop_sequences(settings),
        thinking,
        output_config: has_config.then_some(OutputConfig { effort, format }),
        extra_body: &demands.extra_body,
    };
    base64_text::body(&request, prompt)
}

/// Returns the tools. What is before a mark is cached, so the last one is marked.
fn tools(prompt: &Prompt) -> Vec<Tool<'_>> {
    let tools = prompt.tools.iter().map(|tool| Tool {
        name: &tool.function,
        description: &tool.definition.description,
        input_schema: object_schema(&tool.definition.input_schema),
        cache_control: None,
    });
    let mut tools: Vec<_> = tools.collect();
    if let Some(last) = tools.last_mut() {
        last.cache_control = Some(CacheControl::Ephemeral);
    }
    tools
}

/// Returns the value of `tool_choice` in a request with tools.
fn tool_choice(demands: &Demands<'_>) -> Option<Value> {
    if !demands.may_call {
        return Some(json!({"type": "none"}));
    }
    let is_single = demands.tool_use.parallel == Some(false);
    let mut choice = match &demands.tool_use.choice {
        ToolChoice::Auto if !is_single => return None,
        ToolChoice::Auto => json!({"type": "auto"}),
        ToolChoice::Required => json!({"type": "any"}),
        ToolChoice::Function(name) => json!({"type": "tool", "name": name}),
    };
    if is_single {
        choice["disable_parallel_tool_use"] = true.into();
    }
    Some(choice)
}

/// Returns the texts at which a reply ends. Blank ones are refused.
fn stop_sequences(settings: Option<&LlmSettings>) -> Vec<&str> {
    let texts = settings.and_then(|it| it.stop.as_deref());
    let texts = texts.unwrap_or_default().iter().map(String::as_str);
    texts.filter(|text| !text.trim().is_empty()).collect()
}

/// Returns how the model thinks, and its effort. Without an effort and without anybody who may see the reasoning, both
/// are left to the model.
fn thinking(demands: &Demands<'_>) -> (Option<Thinking>, Option<&'static str>) {
    if demands.tool_use.choice != ToolChoice::Auto {
        // The API refuses to think before a call that it is forced to make.
        return (None, None);
    }
    let dialect = demands.dialect;
    let shows = demands.shows_reasoning && !dialect.refused_efforts.has_reasoning();
    let display = if shows { "summarized" } else { "omitted" };
    let effort = match dialect.effort_for(demands.settings) {
        Some(ReasoningEffort::None) => return (Some(Thinking::Disabled), None),
        Some(ReasoningEffort::Minimal | ReasoningEffort::Low) => Some("low"),
        Some(ReasoningEffort::Medium) => Some("medium"),
        Some(ReasoningEffort::High) => Some("high"),
        // Also an effort that only a newer version knows.
        _ => None,
    };
    let is_adaptive = effort.is_some() || shows;
    (
        is_adaptive.then_some(Thinking::Adaptive { display }),
        effort,
    )
}
