//! The implementation of the port.

use std::sync::Arc;

use async_trait::async_trait;
use domain::handover;
use ports::{
    BlobStore, CapabilityInfo, CapabilityKind, Clock, FileRepository, ProvidedTools, ToolArguments,
    ToolContext, ToolDefinition, ToolError, ToolProvider,
};
use serde_json::Value;

use crate::{
    calculator, hand_over, local_time,
    read_file::{self, Files},
};

/// The built-in tools, which return at once or after a look at a file.
pub struct BuiltInTools {
    clock: Arc<dyn Clock>,
    files: Option<Files>,
    definitions: [Arc<ToolDefinition>; 4],
}

impl BuiltInTools {
    /// Creates the tools. `time` returns the time of this clock.
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self {
            clock,
            files: None,
            definitions: [
                calculator::definition(),
                hand_over::definition(),
                read_file::definition(),
                local_time::definition(),
            ]
            .map(Arc::new),
        }
    }

    /// Lets `read_file` read these files. Without them, it is not available.
    #[must_use]
    pub fn with_files(self, files: Arc<dyn FileRepository>, blobs: Arc<dyn BlobStore>) -> Self {
        Self {
            files: Some(Files { files, blobs }),
            ..self
        }
    }

    fn is_available(&self, definition: &ToolDefinition) -> bool {
        definition.name != read_file::NAME || self.files.is_some()
    }

    async fn read_file(
        &self,
        arguments: &ToolArguments,
        context: &ToolContext,
    ) -> Result<String, ToolError> {
        refuse_others(arguments, &[read_file::ID, read_file::FROM])?;
        let id = text(arguments, read_file::ID)?;
        let id = id.ok_or_else(|| invalid("`id` is missing"))?;
        let from = match arguments.get(read_file::FROM) {
            None | Some(Value::Null) => 0,
            Some(from) => from
                .as_u64()
                .ok_or_else(|| invalid("`from` must be a position in bytes"))?,
        };
        let files = self.files.as_ref();
        let files = files.ok_or_else(|| ToolError::Unavailable("there are no files".into()))?;
        files.read(id, from, context).await
    }
}

#[async_trait]
impl ToolProvider for BuiltInTools {
    fn provided(&self) -> ProvidedTools {
        let capability = |definition: &Arc<ToolDefinition>| CapabilityInfo {
            name: definition.name.clone(),
            kind: CapabilityKind::Tool,
            description: definition.description.clone(),
            is_available: self.is_available(definition),
        };
        let available = self.definitions.iter().filter(|it| self.is_available(it));
        ProvidedTools {
            capabilities: self.definitions.iter().map(capability).collect(),
            tools: available.cloned().collect(),
        }
    }

    async fn call(
        &self,
        name: &str,
        arguments: &ToolArguments,
        context: &ToolContext,
    ) -> Result<String, ToolError> {
        match name {
            calculator::NAME => {
                refuse_others(arguments, &[calculator::EXPRESSION])?;
                let expression = text(arguments, calculator::EXPRESSION)?
                    .ok_or_else(|| invalid("`expression` is missing"))?;
                calculator::calculate(expression)
                    .map_err(|error| ToolError::InvalidArguments(error.to_string()))
            }
            handover::TOOL => {
                refuse_others(arguments, &[handover::REASON])?;
                text(arguments, handover::REASON)?;
                Ok(hand_over::DONE.to_owned())
            }
            read_file::NAME => self.read_file(arguments, context).await,
            local_time::NAME => {
                refuse_others(arguments, &[local_time::TIME_ZONE])?;
                let zone = text(arguments, local_time::TIME_ZONE)?;
                local_time::format_now(self.clock.now(), zone.unwrap_or("UTC"))
                    .map_err(|error| ToolError::InvalidArguments(error.to_string()))
            }
            _ => Err(ToolError::Unavailable("no such tool".into())),
        }
    }
}

fn invalid(detail: &str) -> ToolError {
    ToolError::InvalidArguments(detail.to_owned())
}

/// Fails if there is an argument with another name.
fn refuse_others(arguments: &ToolArguments, known: &[&str]) -> Result<(), ToolError> {
    if arguments.keys().all(|name| known.contains(&name.as_str())) {
        return Ok(());
    }
    Err(match known {
        [known] => invalid(&format!("the only argument is `{known}`")),
        _ => invalid(&format!("the only arguments are `{}`", known.join("`, `"))),
    })
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
