//! Tools for tests.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use async_trait::async_trait;
use contract::reply_engine::request;
use futures::future::pending;
use ports::{
    AgentTool, ProvidedTools, ReplyRequest, ToolArguments, ToolDefinition, ToolError, ToolProvider,
};
use serde_json::{Value, json};
use tokio::{sync::Barrier, task::yield_now};

/// A provider of tools with any name, which records their calls.
#[derive(Default)]
pub(crate) struct FakeTools {
    pub(crate) calls: Mutex<Vec<(String, Value)>>,
    /// The barrier at which tools named `meet` wait for each other.
    pub(crate) meeting: Option<Barrier>,
    pub(crate) call_timeout: Option<Duration>,
}

impl FakeTools {
    /// The calls and their arguments, in order.
    pub(crate) fn calls(&self) -> Vec<(String, Value)> {
        self.calls.lock().expect("no test panicked").clone()
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

    async fn call(&self, name: &str, arguments: &ToolArguments) -> Result<String, ToolError> {
        let call = (name.to_owned(), Value::Object(arguments.clone()));
        self.calls.lock().expect("no test panicked").push(call);
        match name {
            "refuses" => Err(ToolError::InvalidArguments("no such zone".to_owned())),
            "fails" => Err(ToolError::Failed("the disk is full".to_owned())),
            "away" => Err(ToolError::Unavailable(
                "connection to db:5432 refused".into(),
            )),
            "hangs" => pending().await,
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

/// A tool of this name that accepts any arguments.
pub(crate) fn tool(fake_tools: &Arc<FakeTools>, name: &str) -> AgentTool {
    tool_taking(fake_tools, name, json!({"type": "object"}))
}

/// A tool of this name that accepts arguments by this schema.
pub(crate) fn tool_taking(fake_tools: &Arc<FakeTools>, name: &str, schema: Value) -> AgentTool {
    AgentTool {
        definition: Arc::new(ToolDefinition {
            name: name.to_owned(),
            description: format!("What {name} does."),
            input_schema: schema,
        }),
        provider: Arc::clone(fake_tools) as Arc<dyn ToolProvider>,
    }
}

/// A first message to an agent with these tools.
pub(crate) fn request_with(fake_tools: &Arc<FakeTools>, names: &[&str]) -> ReplyRequest {
    ReplyRequest {
        tools: names.iter().map(|name| tool(fake_tools, name)).collect(),
        ..request(0)
    }
}
