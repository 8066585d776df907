//! The body of a chat.

use application::{
    ChatCommand,
    chat::{AttachedFile, EphemeralChat, OnBusy, PastMessage},
};
use domain::{
    ClientTool, ConversationId, ConversationKey, FaultCode, InputFault, MessageId, ProblemCode,
    ResponseSchema, Role, config::Metadata,
};
use ports::ToolUse;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{
    problem::ApiError,
    request::{JsonBody, conversation_key},
};

/// A message to an agent.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ChatRequest {
    /// The agent that is to reply. Required, except with `conversationId`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    agent_id: Option<String>,
    /// The text of the message. Required, except with `files`, and if `supersedes` is an agent's message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 32000, pattern = r"^[^\x00]*$", nullable = false)]
    message: Option<String>,
    /// The ids of the files of the message, each once. A file that another conversation uses cannot be used.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(max_items = 8)]
    files: Vec<String>,
    /// The conversation to continue. A new one is created when this and `conversationKey` are absent
    /// or null.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    conversation_id: Option<String>,
    /// An instruction of the operator in place of a message of the user: the agent writes first. Only of keys,
    /// clients, and users with `conversations:all`. The agent needs a model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(min_length = 1, max_length = 32000, pattern = r"^[^\x00]*$")]
    instruction: Option<String>,
    /// Your own name for the conversation, unique for the agent and the user. The first chat with it
    /// creates the conversation, and later ones continue it. Neither `.` nor `..`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, min_length = 1, max_length = 128, pattern = r"^[A-Za-z0-9._~:@-]*$")]
    conversation_key: Option<String>,
    /// The user who sends the message. A new conversation belongs to this user; an existing one
    /// must belong to this user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(
        min_length = 1,
        max_length = 320,
        pattern = r"^[^\x00-\x1f\x7f-\x9f]*$"
    )]
    user_id: Option<String>,
    /// A message of the conversation that this turn replaces, together with all later ones: a user
    /// message, which `message` replaces, or an agent's message, which is generated again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    supersedes: Option<String>,
    /// The title of the conversation, if this message creates it; ignored otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(
        max_length = 200,
        pattern = r"^[^\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]*$"
    )]
    title: Option<String>,
    /// What models are told about the conversation, if this message creates it; ignored otherwise. It
    /// requires `conversations:write`, and of users `conversations:all`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 8000, pattern = r"^[^\x00]*$")]
    context: Option<String>,
    /// Your own id of the message: visible ASCII characters. It is returned with the message, its
    /// turn and their events.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(min_length = 1, max_length = 128, pattern = r"^[!-~]*$")]
    client_message_id: Option<String>,
    /// Pairs of strings for the client's own use, stored with the turn.
    #[serde(default)]
    #[schema(value_type = domain::config::MetadataSchema)]
    metadata: Metadata,
    /// Tools that you add for this turn, and run yourself: the turn waits for their output. At most 32 KiB
    /// of JSON. Users may add them only if the agent has `config.allowClientTools`.
    #[serde(default)]
    #[schema(max_items = 16)]
    client_tools: Vec<ClientTool>,
    /// The JSON Schema (2020-12) that the reply must satisfy, in place of the `config.responseSchema` of the agent:
    /// an object, at most 16 KiB, nested at most 16 deep, without references to other documents. The reply then
    /// has an `output`. Default, if `supersedes` is given: the schema that came with the superseded message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>, nullable = false)]
    response_schema: Option<ResponseSchema>,
    /// The behaviour while another turn of the conversation is in progress. Default: `queue`.
    #[serde(default)]
    on_busy: WhenBusy,
    /// Returns the reply as a stream of server-sent events when true. Default: decided by `Accept`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    stream: Option<bool>,
    /// Stores nothing when false: there is no conversation, no turn to read later and no event, and
    /// the turn is cancelled when the connection is closed. With an `Idempotency-Key` only the answer is
    /// stored, for repetitions, and the turn is not cancelled. Only tools that change nothing and need no
    /// approval are called. Users may send false only if the agent has `config.allowUnrecorded`.
    /// Default: true. Only on `POST /api/chat`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    store: Option<bool>,
    /// With `store: false`: the messages before this one, oldest first. The agent's
    /// `config.history` limits them. Those of users all have the role `user`.
    #[serde(default)]
    #[schema(max_items = 1000)]
    history: Vec<HistoryItem>,
}

/// A message that is not stored.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct HistoryItem {
    /// The author of the message.
    role: Role,
    /// The text of the message.
    #[schema(max_length = 32000, pattern = r"^[^\x00]*$")]
    content: String,
}

/// The behaviour while another turn of the conversation is in progress.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum WhenBusy {
    /// Wait until the turns before it have ended.
    #[default]
    Queue,
    /// Reject the message with 409 `conversation_busy`.
    Reject,
}

/// The conversation that a chat refers to.
pub enum ConversationReference {
    /// By its id.
    Id(ConversationId),
    /// By the client's own name.
    Key(ConversationKey),
}

impl JsonBody for ChatRequest {
    const SCHEMA: &'static str = "ChatRequest";
}

impl ChatRequest {
    /// Returns the member `stream`; `None` leaves the decision to `Accept`.
    pub fn stream(&self) -> Option<bool> {
        self.stream
    }

    /// Returns whether the turn is stored.
    pub fn is_stored(&self) -> bool {
        self.store != Some(false)
    }

    /// Returns the conversation to continue, if the request names one that can exist.
    pub fn conversation(&self) -> Option<ConversationReference> {
        let id = self.conversation_id.as_ref().and_then(|id| id.parse().ok());
        let key = || self.conversation_key.as_ref()?.parse().ok();
        id.map(ConversationReference::Id)
            .or_else(|| key().map(ConversationReference::Key))
    }

    /// Converts the body into a command. A malformed id is reported as not found.
    pub fn into_command(self, request_id: Option<String>) -> Result<ChatCommand, ApiError> {
        if !self.is_stored() {
            return Err(not_combinable("/store", "must not be false on a socket"));
        }
        if !self.history.is_empty() {
            return Err(not_combinable("/history", "needs 'store: false'"));
        }
        let parse_agent = |id: String| id.parse().map_err(|_malformed| ProblemCode::AgentNotFound);
        let parse_conversation = |id: String| {
            let id = id.parse();
            id.map_err(|_malformed| ProblemCode::ConversationNotFound)
        };
        let files = attached(&self.files)?;
        let key = self.conversation_key.as_deref();
        let key = key.map(|key| conversation_key("/conversationKey", key));
        let key = key.transpose()?;
        let supersedes = self
            .supersedes
            .map(|id| id.parse::<MessageId>())
            .transpose();
        let supersedes = supersedes.map_err(|_malformed| {
            let detail = "no message of the conversation";
            ApiError::invalid("/supersedes", FaultCode::UnknownValue, detail)
        })?;
        Ok(ChatCommand {
            agent_id: self.agent_id.map(parse_agent).transpose()?,
            message: self.message,
            files,
            instruction: self.instruction,
            conversation_id: self.conversation_id.map(parse_conversation).transpose()?,
            conversation_key: key,
            supersedes,
            supersedes_itself: false,
            title: self.title,
            context: self.context,
            client_message_id: self.client_message_id,
            user_id: self.user_id,
            metadata: self.metadata,
            client_tools: self.client_tools,
            omits_refused_tools: false,
            response_schema: self.response_schema,
            tool_use: ToolUse::default(),
            on_busy: match self.on_busy {
                WhenBusy::Queue => OnBusy::Queue,
                WhenBusy::Reject => OnBusy::Reject,
            },
            request_id,
        })
    }

    /// Converts the body into a chat that is not stored.
    pub fn into_ephemeral(self, request_id: Option<String>) -> Result<EphemeralChat, ApiError> {
        let given = [
            ("/conversationId", self.conversation_id.is_some()),
            ("/conversationKey", self.conversation_key.is_some()),
            ("/instruction", self.instruction.is_some()),
            ("/supersedes", self.supersedes.is_some()),
            ("/title", self.title.is_some()),
            ("/context", self.context.is_some()),
            ("/metadata", !self.metadata.is_empty()),
            ("/clientMessageId", self.client_message_id.is_some()),
            ("/clientTools", !self.client_tools.is_empty()),
            ("/onBusy", self.on_busy != WhenBusy::Queue),
        ];
        let detail = "cannot be combined with 'store: false'";
        let mut faults: Vec<_> = given
            .into_iter()
            .filter(|(_, is_given)| *is_given)
            .map(|(pointer, _)| InputFault::new(pointer, FaultCode::NotCombinable, detail))
            .collect();
        let has_content = self.message.is_some() || !self.files.is_empty();
        for (pointer, is_given) in [
            ("/agentId", self.agent_id.is_some()),
            ("/message", has_content),
        ] {
            if !is_given {
                faults.push(InputFault::new(pointer, FaultCode::Required, "required"));
            }
        }
        let (Some(agent_id), true) = (self.agent_id, faults.is_empty()) else {
            return Err(ApiError::faults(ProblemCode::ValidationFailed, faults));
        };
        let history = self.history.into_iter();
        Ok(EphemeralChat {
            agent_id: agent_id
                .parse()
                .map_err(|_malformed| ProblemCode::AgentNotFound)?,
            message: self.message.unwrap_or_default(),
            files: attached(&self.files)?,
            history: history
                .map(|item| PastMessage::new(item.role, item.content))
                .collect(),
            steps: Vec::new(),
            client_tools: Vec::new(),
            response_schema: self.response_schema,
            tool_use: ToolUse::default(),
            omits_refused_messages: false,
            user_id: self.user_id,
            request_id,
        })
    }
}

fn attached(ids: &[String]) -> Result<Vec<AttachedFile>, ProblemCode> {
    let parse = |id: &String| match id.parse() {
        Ok(id) => Ok(AttachedFile::Stored(id)),
        Err(_malformed) => Err(ProblemCode::FileNotFound),
    };
    ids.iter().map(parse).collect()
}

fn not_combinable(pointer: &str, detail: &str) -> ApiError {
    ApiError::invalid(pointer, FaultCode::NotCombinable, detail)
}
