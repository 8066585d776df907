//! The implementation of the port.

use std::sync::Arc;

use async_trait::async_trait;
use domain::handover;
use ports::{
    CapabilityInfo, CapabilityKind, Clock, ProvidedTools, ToolArguments, ToolContext,
    ToolDefinition, ToolError, ToolProvider,
};
use serde_json::Value;

use crate::{calculator, hand_over, local_time};

/// The built-in tools, which return at once.
pub struct BuiltInTools {
    clock: Arc<dyn Clock>,
    definitions: [Arc<ToolDefinition>; 3],
}

impl BuiltInTools {
    /// Creates the tools. `time` returns the time of this clock.
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self {
            clock,
            definitions: [
                calculator::definition(),
                hand_over::definition(),
                local_time::definition(),
            ]
            .map(Arc::new),
        }
    }
}

#[async_trait]
impl ToolProvider for BuiltInTools {
    fn provided(&self) -> ProvidedTools {
        let capability = |definition: &Arc<ToolDefinition>| CapabilityInfo {
            name: definition.name.clone(),
            kind: CapabilityKind::Tool,
            description: definition.description.clone(),
            is_available: true,
        };
        ProvidedTools {
            capabilities: self.definitions.iter().map(capability).collect(),
            tools: self.definitions.to_vec(),
        }
    }

    async fn call(
        &self,
        name: &str,
        arguments: &ToolArguments,
        _: &ToolContext,
    ) -> Result<String, ToolError> {
        match name {
            calculator::NAME => {
                refuse_others(arguments, calculator::EXPRESSION)?;
                let expression = text(arguments, calculator::EXPRESSION)?.ok_or_else(|| {
                    ToolError::InvalidArguments("`expression` is missing".to_owned())
                })?;
                calculator::calculate(expression)
                    .map_err(|error| ToolError::InvalidArguments(error.to_string()))
            }
            handover::TOOL => {
                refuse_others(arguments, handover::REASON)?;
                text(arguments, handover::REASON)?;
                Ok(hand_over::DONE.to_owned())
            }
            local_time::NAME => {
                refuse_others(arguments, local_time::TIME_ZONE)?;
                let zone = text(arguments, local_time::TIME_ZONE)?;
                local_time::format_now(self.clock.now(), zone.unwrap_or("UTC"))
                    .map_err(|error| ToolError::InvalidArguments(error.to_string()))
            }
            _ => Err(ToolError::Unavailable("no such tool".into())),
        }
    }
}

/// Fails if there is an argument with another name.
fn refuse_others(arguments: &ToolArguments, known: &str) -> Result<(), ToolError> {
    match arguments.keys().find(|name| *name != known) {
        None => Ok(()),
        Some(_) => Err(ToolError::InvalidArguments(format!(
            "the only argument is `{known}`"
        ))),
    }
}

/// Returns an optional string argument.
fn text<'a>(arguments: &'a ToolArguments, name: &str) -> Result<Option<&'a str>, ToolError> {
    match arguments.get(name) {
        // Some models send null for an argument that they leave out.
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(ToolError::InvalidArguments(format!(
            "`{name}` must be a string"
        ))),
    }
}
