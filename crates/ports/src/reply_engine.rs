//! Engines that produce replies.

use std::{collections::HashMap, sync::Arc, time::Duration};

use async_trait::async_trait;
use bytes::Bytes;
use domain::{
    Agent, AgentConfig, FileId, FileKinds, FileReference, FinishReason, HistoryMessage, InputFault,
    ModelStep, ResponseSchema, RuleTest, TenantId, TurnId, Usage, User,
    placeholder::PlaceholderValues,
};
use futures::stream::BoxStream;
use serde_json::Value;

use crate::{AgentTool, BoxError};

/// One request to the model of an engine.
#[derive(Debug, Clone)]
pub struct ModelRequest {
    /// The tenant of the turn.
    pub tenant: TenantId,
    /// The agent that replies.
    pub agent: Arc<Agent>,
    /// The turn.
    pub turn_id: TurnId,
    /// The number of this turn in its conversation, from 0.
    pub turn_number: i64,
    /// The user of the conversation, if known.
    pub user_id: Option<String>,
    /// The stored user.
    pub user: Option<Arc<User>>,
    /// The context of the conversation.
    pub context: Option<Arc<str>>,
    /// The conversation before this message, with earlier tool calls, oldest first. Empty in the first
    /// request of an immediate engine.
    pub history: Arc<Vec<HistoryMessage>>,
    /// The user's message.
    pub message: Arc<str>,
    /// The files of the user's message.
    pub files: Vec<FileReference>,
    /// The contents of files of the message and of the history that the model receives. Those of kinds that the
    /// engine does not take, and all others, are only named.
    pub file_contents: Arc<FileContents>,
    /// The responses with tool calls in this turn so far, with the results of the calls, oldest first.
    pub steps: Vec<Arc<ModelStep>>,
    /// Responses with tool calls for the same message in turns that this one repeats or replaces, with the
    /// results: what may have taken effect already. In a chat that is not stored, those that its client has
    /// received and answered. They count as made in this turn, before `steps`.
    pub earlier_steps: Vec<Arc<ModelStep>>,
    /// The agent's tools that are available now. Empty in the first request of an immediate engine.
    pub tools: Arc<[AgentTool]>,
    /// The agent's capabilities whose tools are unavailable now, and tool servers that are
    /// unavailable.
    pub unavailable_tools: Vec<String>,
    /// False if the model must reply without calling a tool.
    pub may_call: bool,
    /// True if staff handles the conversation: open calls are finished, and no model is asked.
    pub is_for_staff: bool,
    /// The demands of the client on the tool calls, while the model may call.
    pub tool_use: ToolUse,
    /// The schema that the text of the reply must satisfy. Engines pass it on to models that can keep to one; the
    /// agent loop checks the text in any case.
    pub response_schema: Option<ResponseSchema>,
}

/// The contents of files. Texts may be cut.
pub type FileContents = HashMap<FileId, Bytes>;

/// The demands of the client of a turn on the model's tool calls. Engines without a model ignore them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToolUse {
    /// The tools that the response must call.
    pub choice: ToolChoice,
    /// True if one response may call several tools; `None` leaves that to the model.
    pub parallel: Option<bool>,
}

/// The tools that a response must call.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum ToolChoice {
    /// Those that the model wants to call, if any.
    #[default]
    Auto,
    /// At least one.
    Required,
    /// The one with this function name.
    Function(String),
}

impl ModelRequest {
    /// Creates the first request of a turn, without user, history and tools.
    pub fn new(
        tenant: TenantId,
        agent: Arc<Agent>,
        turn_id: TurnId,
        message: impl Into<Arc<str>>,
    ) -> Self {
        Self {
            tenant,
            agent,
            turn_id,
            turn_number: 0,
            user_id: None,
            user: None,
            context: None,
            history: Arc::default(),
            message: message.into(),
            files: Vec::new(),
            file_contents: Arc::default(),
            steps: Vec::new(),
            earlier_steps: Vec::new(),
            tools: Arc::default(),
            unavailable_tools: Vec::new(),
            may_call: true,
            is_for_staff: false,
            tool_use: ToolUse::default(),
            response_schema: None,
        }
    }
}

impl ModelRequest {
    /// Takes the tools away. The model receives the earlier calls as texts.
    pub fn without_tools(&mut self) {
        let names = self.tools.iter().map(|tool| tool.definition.name.clone());
        self.unavailable_tools.extend(names);
        self.tools = Arc::default();
    }

    /// Returns the values of the placeholders in texts of the agent.
    pub fn placeholder_values(&self) -> PlaceholderValues<'_> {
        PlaceholderValues {
            agent_name: &self.agent.name,
            user_id: self.user_id.as_deref(),
            user_name: self.user.as_ref().and_then(|user| user.name.as_deref()),
        }
    }
}

/// One part of the response to a request.
#[derive(Debug, Clone, PartialEq)]
pub enum ModelChunk {
    /// More text of the model's reasoning, or of a summary of it. It is not part of the reply.
    Reasoning(String),
    /// More text of the reply.
    Text(String),
    /// The model calls a tool. The call is complete.
    ToolCall(RequestedCall),
    /// The end of the response.
    End {
        /// The reason why the response ended.
        finish_reason: FinishReason,
        /// The token counts, if the engine provides them.
        usage: Option<Usage>,
        /// The name of the model that replied, if the service behind the engine reports it.
        model: Option<String>,
        /// Data of the engine that it receives again with this step in the next requests of the turn. It
        /// returns only to the same engine and model.
        state: Option<Value>,
    },
}

/// A tool call, as a model asks for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestedCall {
    /// The name of the function, as the model wrote it.
    pub function: String,
    /// The arguments as the model wrote them: JSON, unless it made a mistake. `None` if they did not
    /// arrive.
    pub arguments: Option<String>,
}

/// The response to one request. Reasoning, text and tool calls, then exactly one end or one error. Dropping it
/// stops the engine and its request to another service.
pub type ModelStream = BoxStream<'static, Result<ModelChunk, ReplyError>>;

/// The reasons why an engine gives no reply.
#[derive(Debug, thiserror::Error)]
pub enum ReplyError {
    /// The engine cannot be reached.
    #[error("the engine is unavailable")]
    Unavailable(#[source] BoxError),
    /// The engine rejected the request because of its rate limit.
    #[error("the engine is rate limited")]
    RateLimited {
        /// The time after which to try again, if the engine sent it.
        retry_after: Option<Duration>,
    },
    /// The tenant has too much work queued at the engine already; the engine was not called.
    #[error("the engine is overloaded")]
    Overloaded,
    /// The engine did not reply in time.
    #[error("the engine timed out")]
    TimedOut,
    /// The engine rejects this request, also if it is repeated.
    #[error("the engine rejected the request")]
    Rejected(#[source] BoxError),
    /// The reply was cut off.
    #[error("the engine's reply was cut off")]
    CutOff(#[source] BoxError),
    /// The reply is malformed, too large or, with [`UnusableReply`] as the cause, well-formed but
    /// unusable.
    #[error("the engine's reply is unusable")]
    InvalidReply(#[source] BoxError),
}

/// The cause of a [`ReplyError::InvalidReply`] that is well-formed but unusable, for example empty
/// or longer than allowed. The agent's own configuration can cause it, so it is no evidence that
/// the engine fails for other agents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct UnusableReply(pub &'static str);

/// A cause that is shown to callers who may configure agents. It contains no text of foreign servers but
/// names of errors.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ToldCause(pub String);

impl ReplyError {
    /// Returns the cause if it is shown to callers who may configure agents.
    pub fn told_cause(&self) -> Option<&str> {
        let (Self::Unavailable(cause)
        | Self::Rejected(cause)
        | Self::CutOff(cause)
        | Self::InvalidReply(cause)) = self
        else {
            return None;
        };
        let told = cause.downcast_ref().map(|ToldCause(text)| text.as_str());
        told.or_else(|| cause.downcast_ref().map(|UnusableReply(text)| *text))
    }

    /// Returns `true` if the same request can succeed later.
    pub const fn is_retryable(&self) -> bool {
        !matches!(self, Self::Rejected(_) | Self::InvalidReply(_))
    }

    /// Returns `true` if the engine was not called, or has refused the request before any response, so
    /// that nobody bills it.
    pub const fn is_refusal(&self) -> bool {
        matches!(
            self,
            Self::Unavailable(_) | Self::RateLimited { .. } | Self::Overloaded | Self::Rejected(_)
        )
    }

    /// Returns `true` for an unusable reply that the agent's own configuration may have caused.
    pub fn is_unusable_reply(&self) -> bool {
        matches!(self, Self::InvalidReply(cause) if cause.is::<UnusableReply>())
    }
}

/// The reasons why an engine rejects an agent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PrepareError {
    /// The agent's configuration is invalid; the pointers are relative to the agent.
    #[error("the configuration is invalid")]
    Invalid(Vec<InputFault>),
    /// The tenant has too much work queued at the engine already; nothing was checked.
    #[error("the engine is overloaded")]
    Overloaded,
}

/// An engine that asks a model for replies. It translates one request; the agent loop of the
/// application calls tools and asks again. To add one, implement this trait and register it by name in
/// `crates/api/src/wiring`.
#[async_trait]
pub trait ReplyEngine: Send + Sync {
    /// Returns `true` if the engine computes a response from the request alone, without waiting for
    /// anything outside the process. It is then called before anything is stored, without history and
    /// tools. If it replies, the whole turn is stored in one write. If it calls a tool, the response is
    /// dropped, and the turn starts like that of any other engine.
    fn is_immediate(&self) -> bool {
        false
    }

    /// Checks the part of an agent's configuration that this engine uses, and prepares for the
    /// agent. It is called before an agent is stored, whichever engine the agent names.
    async fn prepare(&self, _tenant: &TenantId, _agent: &Arc<Agent>) -> Result<(), PrepareError> {
        Ok(())
    }

    /// Returns the faults of settings that only the agent's own engine uses. It is called before an agent that names
    /// this engine is stored. Pointers are relative to the agent.
    fn faults(&self, _config: &AgentConfig) -> Vec<InputFault> {
        Vec::new()
    }

    /// Returns the model that a request for this agent reaches, if the engine knows it.
    fn model(&self, _agent: &Agent) -> Option<String> {
        None
    }

    /// Returns the models that an agent can choose from, or `None` if the engine does not know
    /// them. MUST return quickly, if necessary from memory.
    async fn models(&self) -> Option<Vec<String>> {
        None
    }

    /// Returns false if the server of the engine could not be reached by its last request, also one for
    /// [`Self::models`]. MUST NOT send a request.
    fn is_reachable(&self) -> bool {
        true
    }

    /// Returns the kinds of files that the model of an agent with this configuration takes. Texts are taken by all.
    /// MUST return quickly, if necessary from memory.
    async fn inputs(&self, _config: &AgentConfig) -> FileKinds {
        FileKinds::default()
    }

    /// Returns false for a schema that cannot be a parameter of a request. The agent loop then asks for the reply in
    /// words.
    fn takes_schema(&self, _schema: &ResponseSchema) -> bool {
        true
    }

    /// Sends one request to a model. The stream MUST yield reasoning, text and tool calls and exactly one end, or
    /// an error. It MUST stop all work when it is dropped. MUST NOT call tools.
    async fn request(&self, request: ModelRequest) -> Result<ModelStream, ReplyError>;

    /// Returns the reply to a request, and the results of the agent's rules; `None` if the engine
    /// has no rules. MUST return the text or the call that [`Self::request`] produces for the same
    /// request, and one result for each rule of the agent, in their order.
    async fn test_rules(&self, _request: ModelRequest) -> Result<Option<RuleTest>, ReplyError> {
        Ok(None)
    }
}
