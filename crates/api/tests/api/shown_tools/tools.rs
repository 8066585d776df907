//! An agent that calls one tool of each visibility.

use std::sync::Arc;

use async_trait::async_trait;
use domain::FinishReason;
use futures::{StreamExt as _, stream};
use ports::{
    CapabilityInfo, CapabilityKind, ModelChunk, ModelRequest, ModelStream, ProvidedTools,
    ReplyEngine, ReplyError, RequestedCall, ToolArguments, ToolContext, ToolDefinition, ToolError,
    ToolHints, ToolProvider,
};
use serde_json::{Value, json};

use crate::api_server::{ApiServer, ApiServerBuilder, id_of};

/// The tools: their visibilities are `full`, the default, and `none`.
pub(super) const NAMES: [&str; 3] = ["notes", "orders", "audit"];

/// The reasoning before each response.
pub(super) const REASONING: &str = "reasoning-of-the-model";

/// A text that only the arguments or the result of a tool contain.
pub(super) fn marker(part: &str, tool: &str) -> String {
    format!("{part}-of-{tool}")
}

fn tool_name(tool: &str) -> String {
    format!("{tool}-tool")
}

/// A model that calls every tool once, and then replies.
struct Clerk;

#[async_trait]
impl ReplyEngine for Clerk {
    async fn request(&self, request: ModelRequest) -> Result<ModelStream, ReplyError> {
        let mut chunks = vec![ModelChunk::Reasoning(REASONING.to_owned())];
        if request.steps.is_empty() {
            chunks.push(ModelChunk::Text("Let me look.".to_owned()));
            chunks.extend(NAMES.map(|tool| {
                let arguments = json!({"about": marker("argument", tool)}).to_string();
                ModelChunk::ToolCall(RequestedCall {
                    function: tool_name(tool),
                    arguments: Some(arguments),
                })
            }));
        } else {
            chunks.push(ModelChunk::Text("Done.".to_owned()));
        }
        chunks.push(ModelChunk::End {
            finish_reason: FinishReason::Stop,
            usage: None,
            model: None,
            state: None,
        });
        Ok(stream::iter(chunks.into_iter().map(Ok)).boxed())
    }
}

/// The provider of the tools.
struct Files;

#[async_trait]
impl ToolProvider for Files {
    fn provided(&self) -> ProvidedTools {
        let capability = |name| CapabilityInfo {
            name,
            kind: CapabilityKind::Tool,
            description: String::new(),
            is_available: true,
        };
        let definition = |name| {
            Arc::new(ToolDefinition {
                name,
                description: String::new(),
                input_schema: json!({"type": "object"}),
                hints: ToolHints::READ_ONLY,
            })
        };
        let names = || NAMES.map(tool_name).into_iter();
        ProvidedTools {
            capabilities: names().map(capability).collect(),
            tools: names().map(definition).collect(),
        }
    }

    async fn call(
        &self,
        name: &str,
        _: &ToolArguments,
        _: &ToolContext,
    ) -> Result<String, ToolError> {
        Ok(marker("result", name.trim_end_matches("-tool")))
    }
}

/// Adds the engine and its tools.
pub(super) fn with_tools(builder: ApiServerBuilder) -> ApiServerBuilder {
    builder.engine("clerk", Clerk).tools(Files)
}

pub(super) fn draft() -> Value {
    json!({"name": "Ada", "capabilities": ["orders-tool"], "config": {
        "engine": "clerk", "allowUnrecorded": true,
        "tools": [
            {"name": "notes-tool", "visibility": "full", "approval": "never"},
            {"name": "audit-tool", "visibility": "none", "approval": "never"},
        ],
    }})
}

/// A server without an agent.
pub(super) async fn server() -> ApiServer {
    with_tools(ApiServerBuilder::default()).start().await
}

/// A server with the agent.
pub(super) async fn start() -> (ApiServer, String) {
    let api = server().await;
    let agent = id_of(&api.agent(draft()).await);
    (api, agent)
}
