//! The interface of the chat use case: its command and its error.

use std::sync::Arc;

pub use domain::admission::OnBusy;
use domain::{
    AgentId, ClientTool, ConversationId, ConversationKey, CredentialSource, FaultCode, FileRefusal,
    InputFault, LimitOverrides, MessageId, Principal, Problem, ProblemCode, ResponseSchema, Scope,
    client_tool::check_client_tools,
    config::{Metadata, check_metadata},
    text::{BLANK_IN_WORDS, is_blank},
};
use ports::{RepositoryError, ToolUse};
use serde::Serialize;
use writes::UnusableFile;

use super::attached::AttachedFile;
use crate::{FileError, IdempotencyConflict, idempotency::IdempotentError};

/// The caller of a chat.
#[derive(Debug, Clone, Copy)]
pub struct ChatCaller<'a> {
    /// The principal.
    pub principal: &'a Principal,
    /// The credential by which it was authenticated. Tools that act for a user need it to be valid
    /// when they are called.
    pub credential: &'a Arc<CredentialSource>,
    /// The limits of the credential.
    pub limits: &'a LimitOverrides,
}

/// A message to an agent. An idempotency key is bound to its serialized form, which omits the
/// fields that only shape the response.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ChatCommand {
    /// The agent that is to reply; that of the conversation if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<AgentId>,
    /// The user's text; absent if a stored message is answered again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// The files of the message.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<AttachedFile>,
    /// The operator's instruction in place of a message: the agent writes first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instruction: Option<String>,
    /// The conversation; a new one if absent.
    pub conversation_id: Option<ConversationId>,
    /// The client's own name for the conversation, which is created if it does not exist.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub conversation_key: Option<ConversationKey>,
    /// The message that is superseded, with all later ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub supersedes: Option<MessageId>,
    /// True to supersede the newest message of the user if it has the same `client_message_id`:
    /// it is sent again for another reply.
    #[serde(skip)]
    pub supersedes_itself: bool,
    /// The title of a conversation that this message creates.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The context of a conversation that this message creates.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context: Option<String>,
    /// The client's own id of the message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_message_id: Option<String>,
    /// The user that sends the message.
    pub user_id: Option<String>,
    /// The client's own string pairs for the turn.
    pub metadata: Metadata,
    /// The tools that the client adds for this turn, and runs itself.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub client_tools: Vec<ClientTool>,
    /// True to leave out those of them that the agent does not accept, instead of rejecting the message.
    #[serde(skip)]
    pub omits_refused_tools: bool,
    /// The schema that the reply must satisfy, in place of that of the agent. Without one, a message that
    /// supersedes another has the schema of that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub response_schema: Option<ResponseSchema>,
    /// The client's demands on the model's tool calls. They are not stored: a turn that was queued, or that
    /// goes on, runs without them.
    #[serde(skip)]
    pub tool_use: ToolUse,
    /// The behaviour while a turn is in progress: the message is queued or rejected.
    #[serde(skip)]
    pub on_busy: OnBusy,
    /// The id of the request, for the log.
    #[serde(skip)]
    pub request_id: Option<String>,
}

impl ChatCommand {
    /// Returns a command without a message in the conversation that a client has named. The turn is
    /// queued if another one is in progress.
    pub fn in_named_conversation(
        agent_id: AgentId,
        key: ConversationKey,
        user_id: Option<String>,
        request_id: Option<String>,
    ) -> Self {
        Self {
            agent_id: Some(agent_id),
            message: None,
            files: Vec::new(),
            instruction: None,
            conversation_id: None,
            conversation_key: Some(key),
            supersedes: None,
            supersedes_itself: false,
            title: None,
            context: None,
            client_message_id: None,
            user_id,
            metadata: Metadata::default(),
            client_tools: Vec::new(),
            omits_refused_tools: true,
            response_schema: None,
            tool_use: ToolUse::default(),
            on_busy: OnBusy::Queue,
            request_id,
        }
    }

    /// Returns whether the user says or shows something.
    pub(super) const fn has_content(&self) -> bool {
        self.message.is_some() || !self.files.is_empty()
    }

    /// Checks what the schema cannot express, and returns all faults at once.
    pub(super) fn check(&self) -> Result<(), Vec<InputFault>> {
        let faults = check_metadata(&self.metadata);
        let mut faults: Vec<_> = faults
            .into_iter()
            .map(|fault| fault.below("/metadata"))
            .collect();
        let of_tools = check_client_tools(&self.client_tools).into_iter();
        faults.extend(of_tools.map(|fault| fault.below("/clientTools")));
        let is_repeated = |(index, file): &(usize, &AttachedFile)| {
            !file.is_new() && self.files[..*index].contains(file)
        };
        let repeated = self.files.iter().enumerate().filter(is_repeated);
        faults.extend(repeated.map(|(index, _)| {
            let pointer = format!("/files/{index}");
            InputFault::new(pointer, FaultCode::DuplicateItem, "is there twice")
        }));
        let mut add = |pointer, code, detail| faults.push(InputFault::new(pointer, code, detail));
        if self.conversation_id.is_some() && self.conversation_key.is_some() {
            let detail = "cannot be combined with 'conversationId'";
            add("/conversationKey", FaultCode::NotCombinable, detail);
        }
        if self.agent_id.is_none() && self.conversation_id.is_none() {
            let detail = "required, except with 'conversationId'";
            add("/agentId", FaultCode::Required, detail);
        }
        for (pointer, is_given) in [
            ("/message", self.message.is_some()),
            ("/files", !self.files.is_empty()),
            ("/supersedes", self.supersedes.is_some()),
            ("/clientMessageId", self.client_message_id.is_some()),
            ("/clientTools", !self.client_tools.is_empty()),
        ] {
            if is_given && self.instruction.is_some() {
                let detail = "cannot be combined with 'instruction'";
                add(pointer, FaultCode::NotCombinable, detail);
            }
        }
        let has_text = self.has_content() || self.instruction.is_some();
        if self.supersedes.is_none() && !has_text {
            let detail = "required, except with 'files', 'instruction', or an agent's message in 'supersedes'";
            add("/message", FaultCode::Required, detail);
        }
        if self.files.is_empty() && self.message.as_deref().is_some_and(is_blank) {
            add("/message", FaultCode::TooShort, BLANK_IN_WORDS);
        }
        if self.instruction.as_deref().is_some_and(is_blank) {
            add("/instruction", FaultCode::TooShort, BLANK_IN_WORDS);
        }
        if self.supersedes.is_some()
            && self.conversation_id.is_none()
            && self.conversation_key.is_none()
        {
            let detail = "needs the conversation of the message";
            add("/supersedes", FaultCode::NotCombinable, detail);
        }
        if faults.is_empty() {
            return Ok(());
        }
        Err(faults)
    }
}

/// The error of a chat that produced no reply.
#[derive(Debug, thiserror::Error)]
pub enum ChatError {
    /// The agent does not exist.
    #[error("no such agent")]
    AgentNotFound,
    /// The conversation does not exist, or the caller may not know of it.
    #[error("no such conversation")]
    ConversationNotFound,
    /// A file does not exist, or the caller may not know of it.
    #[error("no such file")]
    FileNotFound,
    /// Other conversations use a file.
    #[error("other conversations use a file")]
    FileInUse,
    /// The engine of the agent does not take the file at this index.
    #[error("the engine of the agent does not take a file")]
    FileNotAccepted {
        /// The index of the file in the message.
        index: usize,
    },
    /// The file at this index, which the client sends, is not accepted.
    #[error("a file is not accepted: {refusal}")]
    FileRefused {
        /// The index of the file in the message.
        index: usize,
        /// The reason.
        refusal: FileRefusal,
    },
    /// The files that the client sends are not stored.
    #[error("files are not stored")]
    FilesNotStored(#[from] FileError),
    /// The metadata is invalid, or the message contradicts its conversation.
    #[error("the message does not fit its conversation")]
    Invalid(Vec<InputFault>),
    /// The model is not offered what it must call; `detail` describes the fault of the demand.
    #[error("the tool choice {detail}")]
    ToolNotOffered {
        /// The fault, in words.
        detail: &'static str,
    },
    /// The caller may not do this without a scope.
    #[error("needs the scope {}", .0.as_str())]
    NotPermitted(Scope),
    /// The message to supersede was superseded before.
    #[error("the message is superseded already")]
    MessageSuperseded,
    /// A turn is in progress, too many turns are queued, or the conversation keeps changing.
    #[error("the conversation is busy")]
    Busy,
    /// A tool call waits for an answer, which the message may not dismiss.
    #[error("a tool call waits for an answer")]
    ActionRequired,
    /// Too many finished turns wait to be stored, or too many messages of the tenant wait for a
    /// reply.
    #[error("too many finished turns or messages wait")]
    Overloaded,
    /// The turn was cancelled.
    #[error("the turn was cancelled")]
    Cancelled,
    /// The turn failed, or waited too long for the turns before it.
    #[error("the turn failed: {}", .0.code.as_str())]
    Failed(Problem),
    /// The idempotency key was used before.
    #[error(transparent)]
    Idempotency(#[from] IdempotencyConflict),
    /// The store failed.
    #[error("the store failed")]
    Store(#[from] RepositoryError),
}

impl IdempotentError for ChatError {
    fn is_rejection(&self) -> bool {
        matches!(
            self,
            Self::AgentNotFound
                | Self::ConversationNotFound
                | Self::FileNotFound
                | Self::FileInUse
                | Self::FileNotAccepted { .. }
                | Self::FileRefused { .. }
                | Self::Invalid(_)
                | Self::ToolNotOffered { .. }
                | Self::NotPermitted(_)
                | Self::MessageSuperseded
                | Self::Busy
                | Self::ActionRequired
        )
    }
}

impl From<UnusableFile> for ChatError {
    fn from(file: UnusableFile) -> Self {
        match file {
            UnusableFile::NotFound(_) => Self::FileNotFound,
            UnusableFile::InUse(_) => Self::FileInUse,
        }
    }
}

impl From<ProblemCode> for ChatError {
    fn from(code: ProblemCode) -> Self {
        Self::Failed(Problem::new(code))
    }
}
