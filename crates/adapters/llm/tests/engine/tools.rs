//! Tools that do what a test writes down.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use contract::reply_engine::request;
use futures::future::pending;
use ports::{
    AgentTool, Provided, ReplyRequest, ToolArguments, ToolDefinition, ToolError, ToolProvider,
};
use serde_json::{Value, json};
use tokio::{sync::Barrier, task::yield_now};

/// Somebody who has every tool there is a name for, and knows how often each was called.
#[derive(Default)]
pub(crate) struct Bench {
    pub(crate) calls: Mutex<Vec<(String, Value)>>,
    /// Where tools named `meet` wait for each other.
    pub(crate) meeting: Option<Barrier>,
}

impl Bench {
    /// What was called, with what, in the order in which it was called.
    pub(crate) fn calls(&self) -> Vec<(String, Value)> {
        self.calls.lock().expect("no test panicked").clone()
    }
}

#[async_trait]
impl ToolProvider for Bench {
    fn provided(&self) -> Provided {
        Provided::default()
    }

    async fn call(&self, name: &str, arguments: &ToolArguments) -> Result<String, ToolError> {
        let call = (name.to_owned(), Value::Object(arguments.clone()));
        self.calls.lock().expect("no test panicked").push(call);
        match name {
            "refuses" => Err(ToolError::Refused("no such zone".to_owned())),
            "fails" => Err(ToolError::Failed("the disk is full".to_owned())),
            "away" => Err(ToolError::Unavailable(
                "connection to db:5432 refused".into(),
            )),
            "hangs" => pending().await,
            "long" => Ok("🦊".repeat(100_000)),
            "slow" => {
                // Until another was called that it lets go first. They may begin in any order.
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

/// A tool of this name that takes anything.
pub(crate) fn tool(bench: &Arc<Bench>, name: &str) -> AgentTool {
    tool_taking(bench, name, json!({"type": "object"}))
}

/// A tool of this name that takes what fits this schema.
pub(crate) fn tool_taking(bench: &Arc<Bench>, name: &str, schema: Value) -> AgentTool {
    AgentTool {
        definition: Arc::new(ToolDefinition {
            name: name.to_owned(),
            description: format!("What {name} does."),
            input_schema: schema,
        }),
        provider: Arc::clone(bench) as Arc<dyn ToolProvider>,
    }
}

/// A first message to an agent that has these tools.
pub(crate) fn request_with(bench: &Arc<Bench>, names: &[&str]) -> ReplyRequest {
    ReplyRequest {
        tools: names.iter().map(|name| tool(bench, name)).collect(),
        ..request(0)
    }
}
