//! The body of a request.

use domain::LlmSettings;
use ports::ToolChoice;
use serde_json::{Value, json};

use super::{CompletionRequest, Messages, ResponseFormat, Settings, StreamOptions, functions};
use crate::{base64_text, demands::Demands, dialect::Dialect, prompt::Prompt};

/// Returns the body of a request.
pub(crate) fn request_body(prompt: &Prompt, demands: &Demands<'_>) -> serde_json::Result<Vec<u8>> {
    let tools = functions(prompt);
    let has_tools = !tools.is_empty();
    let (streams, tool_use) = (demands.streams, demands.tool_use);
    let tool_choice = || tool_choice(demands, &tool_use.choice);
    let has_stream_options = streams && demands.dialect.stream_options;
    let request = CompletionRequest {
        model: demands.model,
        messages: &Messages {
            prompt,
            // Most servers expect `null` in place of an empty text; one that cannot stream tool calls requires a
            // text.
            requires_text: !streams,
        },
        stream: streams,
        stream_options: has_stream_options.then_some(StreamOptions {
            include_usage: true,
        }),
        settings: &settings(demands.settings, demands.dialect),
        tools: &tools,
        tool_choice: has_tools.then(tool_choice).flatten(),
        parallel_tool_calls: tool_use.parallel.filter(|_| has_tools && demands.may_call),
        response_format: demands
            .schema
            .map(|it| ResponseFormat::of_schema(it.value())),
        extra_body: &demands.extra_body,
    };
    base64_text::body(&request, prompt)
}

/// Converts the settings of an agent to request parameters.
fn settings(agent: Option<&LlmSettings>, dialect: Dialect) -> Settings {
    let Some(agent) = agent else {
        return Settings::default();
    };
    let max_tokens = agent.max_output_tokens;
    // Turns -0.0, which some servers reject, into 0.0.
    let normalized = |number: f64| number + 0.0;
    Settings {
        temperature: agent.temperature.map(normalized),
        top_p: agent.top_p.map(normalized),
        max_tokens: max_tokens.filter(|_| !dialect.max_completion_tokens),
        max_completion_tokens: max_tokens.filter(|_| dialect.max_completion_tokens),
        seed: agent.seed,
        stop: agent.stop.clone().unwrap_or_default(),
        reasoning_effort: dialect.effort_for(Some(agent)),
    }
}

/// Returns the value of `tool_choice` in a request with tools. `auto` is the default and some models
/// reject it, so it is sent only to servers without streaming: one of them requires it.
fn tool_choice(demands: &Demands<'_>, choice: &ToolChoice) -> Option<Value> {
    match choice {
        _ if !demands.may_call => Some("none".into()),
        ToolChoice::Auto => (!demands.streams).then(|| "auto".into()),
        ToolChoice::Required => Some("required".into()),
        ToolChoice::Function(name) => Some(json!({"type": "function", "function": {"name": name}})),
    }
}
