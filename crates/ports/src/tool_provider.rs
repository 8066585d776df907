//! Tools that agents use.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use domain::{AgentId, ConversationId, CredentialSource, PrincipalId, TenantId, TurnId};
use serde_json::{Map, Value};

use crate::BoxError;

/// The arguments of a tool call: always an object.
pub type ToolArguments = Map<String, Value>;

/// A tool as engines describe it to a model.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolDefinition {
    /// The capability that gives an agent this tool: `calculator`, or `<server>/<tool>`.
    pub name: String,
    /// The description of the tool, for people and models.
    pub description: String,
    /// The JSON Schema of its arguments. It can come from an untrusted server.
    pub input_schema: Value,
    /// The effects that the tool declares.
    pub hints: ToolHints,
}

/// The effects that a tool declares; `None` where it declares nothing. They can come from an untrusted
/// server.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ToolHints {
    /// `true` if the tool changes nothing.
    pub read_only: Option<bool>,
    /// `false` if the tool only adds something; `true` if it can replace or remove something.
    pub destructive: Option<bool>,
    /// `true` if a repeated call with equal arguments has no further effect.
    pub idempotent: Option<bool>,
    /// `true` if a repeated call with the same id has no further effect: the operator declares it.
    pub is_repeatable: bool,
}

impl ToolHints {
    /// The hints of a tool that changes nothing.
    pub const READ_ONLY: Self = Self {
        read_only: Some(true),
        destructive: Some(false),
        idempotent: Some(true),
        is_repeatable: true,
    };
}

/// The caller, conversation and identity of a tool call. The service sets them; they never come from
/// arguments, which a model writes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolContext {
    /// The tenant.
    pub tenant: TenantId,
    /// The agent that calls the tool.
    pub agent_id: AgentId,
    /// The version of the agent.
    pub agent_version: i64,
    /// The user of the conversation, if known.
    pub user_id: Option<String>,
    /// The conversation; `None` if nothing of the turn is stored.
    pub conversation_id: Option<ConversationId>,
    /// The turn.
    pub turn_id: TurnId,
    /// The id of the call, as in [`domain::ToolCall`]. A repeated call has the same id.
    pub call_id: String,
    /// The number of the attempt to make this call, from 1.
    pub attempt: u32,
    /// The principal that sent the message.
    pub started_by: PrincipalId,
    /// The credential of this principal, if this process received the message.
    pub credential: Option<Arc<CredentialSource>>,
}

/// A capability that gives agents tools.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CapabilityInfo {
    /// The name, for an agent's `capabilities`.
    pub name: String,
    /// The kind of the capability.
    pub kind: CapabilityKind,
    /// The description of the capability.
    pub description: String,
    /// `true` if the capability works now.
    pub is_available: bool,
}

/// The kind of a capability.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CapabilityKind {
    /// A single tool.
    Tool,
    /// A server with all its tools.
    Server,
}

/// The capabilities and tools of a provider, all from the same moment.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ProvidedTools {
    /// The provider's capabilities, available or not, by name.
    pub capabilities: Vec<CapabilityInfo>,
    /// The tools that are available now, by name. A server that is down contributes none.
    pub tools: Vec<Arc<ToolDefinition>>,
}

/// The reasons why a tool call fails. The model receives the error and continues.
#[derive(Debug, thiserror::Error)]
pub enum ToolError {
    /// The tool rejects the arguments; the text explains why, so that the model can try again.
    #[error("the arguments were rejected: {0}")]
    InvalidArguments(String),
    /// The tool failed; the text is the reason that the tool gave.
    #[error("the tool failed: {0}")]
    Failed(String),
    /// The tool has answered, but the answer cannot be used, for this reason: the call may have taken effect.
    #[error("the answer of the tool cannot be used: {0}")]
    Unreadable(String),
    /// The tool cannot be reached, or has refused the call.
    #[error("the tool is unavailable")]
    Unavailable(#[source] BoxError),
    /// The call was sent, and no answer arrived: it may have taken effect.
    #[error("the answer of the tool was lost")]
    Lost(#[source] BoxError),
}

/// A provider of tools. The wiring ensures that names of different providers differ.
#[async_trait]
pub trait ToolProvider: Send + Sync {
    /// Returns the current capabilities and tools. MUST answer from memory. The tools MUST be
    /// exactly those of the available capabilities: two separate reads could miss a server that
    /// recovers in between.
    fn provided(&self) -> ProvidedTools;

    /// Returns the current capabilities only.
    fn capabilities(&self) -> Vec<CapabilityInfo> {
        self.provided().capabilities
    }

    /// Returns the current tools only.
    fn tools(&self) -> Vec<Arc<ToolDefinition>> {
        self.provided().tools
    }

    /// The time limit of its calls, unless it is the usual one.
    fn call_timeout(&self) -> Option<Duration> {
        None
    }

    /// Calls a tool by name. Returns the result as text. The provider judges the arguments: they may
    /// not match the tool's schema. A name that it does not know is `Unavailable`. MUST stop all work when the call is
    /// dropped. Need not limit its time or the size of its result; the caller does.
    async fn call(
        &self,
        name: &str,
        arguments: &ToolArguments,
        context: &ToolContext,
    ) -> Result<String, ToolError>;
}

/// A tool of an agent.
#[derive(Clone)]
pub struct AgentTool {
    /// The name under which a model is offered it: 1 to 64 letters, digits, `_` and `-`, unique among
    /// the tools of the agent.
    pub function: String,
    /// The tool's definition.
    pub definition: Arc<ToolDefinition>,
    /// The provider of the tool; `None` if the client runs it.
    pub provider: Option<Arc<dyn ToolProvider>>,
}

impl AgentTool {
    /// Calls the tool.
    pub async fn call(
        &self,
        arguments: &ToolArguments,
        context: &ToolContext,
    ) -> Result<String, ToolError> {
        let name = &self.definition.name;
        match &self.provider {
            Some(provider) => provider.call(name, arguments, context).await,
            None => Err(ToolError::Unavailable(
                "only the client runs this tool".into(),
            )),
        }
    }
}

impl std::fmt::Debug for AgentTool {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.definition.fmt(formatter)
    }
}
