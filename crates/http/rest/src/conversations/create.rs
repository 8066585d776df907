//! `POST /api/conversations`.

use actix_web::HttpResponse;
use application::conversations::{CreatedConversation, Fork, NewConversation};
use domain::{
    AgentId, Conversation, ConversationDraft, ConversationImport, FaultCode, ImportedMessage,
    ProblemCode, Timestamp, config::Metadata,
};
use kit::{
    auth::{Authorized, ConversationsWrite},
    problem::ApiError,
    reads,
    request::{IdempotencyHeader, Json, JsonBody, conversation_key, created_response},
};
use serde::Deserialize;
use utoipa::ToSchema;

/// A conversation to create.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ConversationRequest {
    /// The agent that replies in the conversation. Required, except with `forkOf`.
    #[serde(default)]
    #[schema(nullable = false)]
    agent_id: Option<String>,
    /// Your own name for the conversation, unique for the agent and the user. If it is used, the
    /// conversation with this name is returned unchanged. Neither `.` nor `..`.
    #[serde(default)]
    #[schema(value_type = Option<String>, min_length = 1, max_length = 128, pattern = r"^[A-Za-z0-9._~:@-]*$")]
    conversation_key: Option<String>,
    /// The conversation whose messages the new one begins with: at most 1,000 messages that are not
    /// superseded. The new conversation has the same agent and user.
    #[serde(default)]
    #[schema(nullable = false)]
    fork_of: Option<ForkRequest>,
    /// The user that the conversation belongs to.
    #[serde(default)]
    #[schema(
        min_length = 1,
        max_length = 320,
        pattern = r"^[^\x00-\x1f\x7f-\x9f]*$"
    )]
    user_id: Option<String>,
    /// A title for people.
    #[serde(default)]
    #[schema(
        max_length = 200,
        pattern = r"^[^\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]*$"
    )]
    title: Option<String>,
    /// Pairs of strings for the client's own use.
    #[serde(default)]
    #[schema(value_type = domain::config::MetadataSchema)]
    metadata: Metadata,
    /// What models are told about the conversation; that of the original if it is a fork. Users set
    /// and read it only with `conversations:all`.
    #[serde(default)]
    #[schema(max_length = 8000, pattern = r"^[^\x00]*$")]
    context: Option<String>,
    /// The messages of a conversation that was led elsewhere, oldest first, in place of a greeting. Only keys
    /// and clients set them, and not with `forkOf`. The body may then have 8 MiB.
    #[serde(default)]
    #[schema(nullable = false, max_items = 1000)]
    messages: Option<Vec<ImportedMessage>>,
    /// The time at which such a conversation began: not after its first message, and not in the future. Only
    /// keys and clients set it. Default: the time of the first message.
    #[serde(default)]
    #[schema(nullable = false)]
    created_at: Option<Timestamp>,
}

/// The messages that a fork begins with.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct ForkRequest {
    /// The conversation.
    conversation_id: String,
    /// The last message to copy. Default: all messages.
    #[serde(default)]
    message_id: Option<String>,
}

impl JsonBody for ConversationRequest {
    const SCHEMA: &'static str = "ConversationRequest";
}

/// Create a conversation. The agent's greeting, if it has one, becomes its first message, unless the
/// conversation is a fork of another one or is imported with its own messages.
#[utoipa::path(
    post, path = "/api/conversations", operation_id = "create_conversation", tag = "Conversations",
    request_body(content = ConversationRequest, example = json!({
        "agentId": "the id of an agent", "userId": "ada", "title": "My order",
    })),
    responses(
        (status = 200, description = "The conversation that already has this `conversationKey`, unchanged.", body = Conversation),
        (status = 201, description = "The conversation.", body = Conversation),
        (status = 409, description = "With `messages` or `createdAt`: the `conversationKey` is in use."),
    ),
)]
pub async fn create_conversation(
    authorized: Authorized<ConversationsWrite>,
    key: IdempotencyHeader,
    body: Json<ConversationRequest>,
) -> Result<HttpResponse, ApiError> {
    let new = body.0.into_new_conversation()?;
    let created = authorized
        .conversations
        .create(authorized.caller(), new, key.0)
        .await?;
    let path = |new: &Conversation| format!("/api/conversations/{}", new.id);
    let (conversation, response) = match created {
        CreatedConversation::Existing(found) => (found, HttpResponse::Ok()),
        CreatedConversation::New(new) => {
            let response = created_response(path(&new.item), false);
            (new, response)
        }
        CreatedConversation::Replayed(first) => {
            let response = created_response(path(&first.item), true);
            (first, response)
        }
    };
    let etag = super::etag(&conversation);
    Ok(reads::written(response, etag, &conversation.item))
}

impl ConversationRequest {
    fn into_new_conversation(self) -> Result<NewConversation, ApiError> {
        let agent_id = self.agent_id.map(|id| id.parse()).transpose();
        if agent_id.is_ok_and(|id: Option<AgentId>| id.is_none()) && self.fork_of.is_none() {
            let detail = "required, except with 'forkOf'";
            return Err(ApiError::invalid("/agentId", FaultCode::Required, detail));
        }
        let is_imported = self.messages.is_some() || self.created_at.is_some();
        if is_imported && self.fork_of.is_some() {
            let detail = "'messages' and 'createdAt' must be absent";
            let code = FaultCode::NotCombinable;
            return Err(ApiError::invalid("/forkOf", code, detail));
        }
        let key = self.conversation_key.as_deref();
        let key = key.map(|key| conversation_key("/conversationKey", key));
        let key = key.transpose()?;
        Ok(NewConversation {
            agent_id: agent_id.map_err(|_malformed| ProblemCode::AgentNotFound)?,
            user_id: self.user_id,
            key,
            fork_of: self.fork_of.map(ForkRequest::into_fork).transpose()?,
            import: is_imported.then(|| ConversationImport {
                created_at: self.created_at,
                messages: self.messages.unwrap_or_default(),
            }),
            draft: ConversationDraft {
                title: self.title,
                metadata: self.metadata,
                context: self.context,
                ..ConversationDraft::default()
            },
        })
    }
}

impl ForkRequest {
    fn into_fork(self) -> Result<Fork, ApiError> {
        let conversation = self.conversation_id.parse();
        let message = self.message_id.map(|id| id.parse()).transpose();
        Ok(Fork {
            conversation_id: conversation
                .map_err(|_malformed| ProblemCode::ConversationNotFound)?,
            message_id: message.map_err(|_malformed: domain::id::MalformedId| {
                let detail = "no message of the conversation that is not superseded";
                ApiError::invalid("/forkOf/messageId", FaultCode::UnknownValue, detail)
            })?,
        })
    }
}
