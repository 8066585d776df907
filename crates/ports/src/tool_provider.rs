//! Tools that agents use.

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::{Map, Value};

use crate::BoxError;

/// The arguments of a tool call: always an object.
pub type ToolArguments = Map<String, Value>;

/// A tool, as an engine tells a model of it.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolDefinition {
    /// The capability that gives an agent this tool: `calculator`, or `<server>/<tool>`.
    pub name: String,
    /// What it does, for people and models.
    pub description: String,
    /// JSON Schema of its arguments. It may come from a server nobody here trusts.
    pub input_schema: Value,
}

/// A capability that does something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CapabilityInfo {
    /// Its name, for an agent's `capabilities`.
    pub name: String,
    /// What stands behind it.
    pub kind: CapabilityKind,
    /// What it does.
    pub description: String,
    /// Whether it works at the moment.
    pub is_available: bool,
}

/// What stands behind a capability.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CapabilityKind {
    /// One tool.
    Tool,
    /// A server with all its tools.
    Server,
}

/// What a provider has, all at the same moment.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Provided {
    /// The capabilities that it gives, available or not, in order of name.
    pub capabilities: Vec<CapabilityInfo>,
    /// The tools that work, in order of name: whoever is down has none, and is looked after
    /// elsewhere.
    pub tools: Vec<Arc<ToolDefinition>>,
}

/// Why a call gave no answer. The model is told, and goes on.
#[derive(Debug, thiserror::Error)]
pub enum ToolError {
    /// The arguments make no sense to the tool; says why, for the model to try again.
    #[error("the arguments are refused: {0}")]
    Refused(String),
    /// The tool tried and failed; says why, as far as it said so itself.
    #[error("the tool failed: {0}")]
    Failed(String),
    /// It cannot be reached.
    #[error("the tool is unavailable")]
    Unavailable(#[source] BoxError),
}

/// Somebody who has tools. Names of different providers differ; wiring sees to that.
#[async_trait]
pub trait ToolProvider: Send + Sync {
    /// What this provider has at the moment. MUST answer from memory. The tools MUST be those whose
    /// capabilities are available: whoever asked for both apart could miss what comes back between.
    fn provided(&self) -> Provided;

    /// Its capabilities alone.
    fn capabilities(&self) -> Vec<CapabilityInfo> {
        self.provided().capabilities
    }

    /// Its tools alone.
    fn tools(&self) -> Vec<Arc<ToolDefinition>> {
        self.provided().tools
    }

    /// Calls the tool of this name with arguments that its schema lets pass. Answers text, or
    /// what of its answer can be said as text; a name that nobody here has is `Unavailable`. MUST
    /// stop all work when the call is dropped; need not bound its time or its answer's size, which
    /// whoever calls does.
    async fn call(&self, name: &str, arguments: &ToolArguments) -> Result<String, ToolError>;
}

/// A tool of an agent.
#[derive(Clone)]
pub struct AgentTool {
    /// What it is.
    pub definition: Arc<ToolDefinition>,
    /// Who has it.
    pub provider: Arc<dyn ToolProvider>,
}

impl AgentTool {
    /// Calls it with arguments that its schema lets pass.
    pub async fn call(&self, arguments: &ToolArguments) -> Result<String, ToolError> {
        self.provider.call(&self.definition.name, arguments).await
    }
}

impl std::fmt::Debug for AgentTool {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.definition.fmt(formatter)
    }
}
