//! Tools for tests, and the steps of turns that use them.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use contract::reply_engine::request;
use domain::{ModelResponse, ModelStep, Repetition, ToolEnd, ToolStep};
use ports::{
    AgentTool, ModelChunk, ModelRequest, ProvidedTools, ToolArguments, ToolContext, ToolDefinition,
    ToolError, ToolHints, ToolProvider,
};
use serde_json::{Value, json};

use crate::fixture::CollectedReply;

/// A provider whose tools are never called: an engine only describes them.
struct Uncalled;

#[async_trait]
impl ToolProvider for Uncalled {
    fn provided(&self) -> ProvidedTools {
        ProvidedTools::default()
    }

    async fn call(
        &self,
        name: &str,
        _: &ToolArguments,
        _: &ToolContext,
    ) -> Result<String, ToolError> {
        panic!("{name} is called")
    }
}

/// A tool of this name that accepts any arguments.
pub(crate) fn tool(name: &str) -> AgentTool {
    tool_taking(name, json!({"type": "object"}))
}

/// A tool of this name that accepts arguments by this schema.
pub(crate) fn tool_taking(name: &str, schema: Value) -> AgentTool {
    AgentTool {
        function: name.replace('/', "_"),
        definition: Arc::new(ToolDefinition {
            name: name.to_owned(),
            description: format!("What {name} does."),
            input_schema: schema,
            hints: ToolHints::default(),
        }),
        provider: Some(Arc::new(Uncalled)),
    }
}

/// A first message to an agent with these tools.
pub(crate) fn request_with(names: &[&str]) -> ModelRequest {
    ModelRequest {
        tools: names.iter().map(|name| tool(name)).collect(),
        ..request(0)
    }
}

/// The request after a response with tool calls, each of which returned `noon`.
pub(crate) fn after(mut request: ModelRequest, reply: &CollectedReply) -> ModelRequest {
    let Some(ModelChunk::End { state, .. }) = reply.chunks.last() else {
        panic!("{reply:?} has no end")
    };
    let calls = reply.calls().into_iter().enumerate();
    let calls = calls.map(|(index, call)| ToolStep {
        call_id: format!("turn-{index}"),
        name: call.function.clone(),
        function: call.function,
        arguments: call.arguments.unwrap_or_else(|| "{}".to_owned()),
        at: 0,
        visibility: None,
        repetition: Repetition::Acts,
        wait: None,
        timeout_ms: None,
        end: Some(ToolEnd::new("ok", "noon".to_owned(), Duration::ZERO)),
    });
    request.steps.push(Arc::new(ModelStep {
        response: ModelResponse {
            reasoning: None,
            engine: "llm".to_owned(),
            model: None,
            text: reply.text(),
            state: state.clone(),
            requests: Vec::new(),
            is_draft: false,
        },
        calls: calls.collect(),
    }));
    request
}
