//! `POST /api/chat`.

use std::time::{Duration, Instant};

use actix_web::{HttpResponse, http::header::HeaderName};
use application::{ChatCommand, chat::OnBusy};
use domain::{ChatReply, ProblemCode, config::Metadata};
use serde::Deserialize;
use utoipa::ToSchema;

use crate::{
    access::{Authorized, ChatWrite},
    problem::ApiError,
    request::{IdempotencyHeader, Json, JsonBody},
};

const SERVER_TIMING: HeaderName = HeaderName::from_static("server-timing");

/// A message to an agent.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ChatRequest {
    /// Who is to answer.
    #[schema(max_length = 64)]
    agent_id: String,
    /// The text.
    #[schema(min_length = 1, max_length = 32000, pattern = r"^[^\x00]*$")]
    message: String,
    /// The conversation to go on with; a new one when absent.
    #[serde(default)]
    #[schema(max_length = 64, nullable = false)]
    conversation_id: Option<String>,
    /// The person who speaks: a new conversation belongs to them; in an existing one it must be
    /// theirs.
    #[serde(default)]
    #[schema(
        min_length = 1,
        max_length = 320,
        pattern = r"^[^\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]*$",
        nullable = false
    )]
    user_id: Option<String>,
    /// String pairs of the client's own, for the turn.
    #[serde(default)]
    #[schema(value_type = domain::config::MetadataSchema)]
    metadata: Metadata,
    /// What to do while a turn is in progress in the conversation. Default: `queue`.
    #[serde(default)]
    on_busy: WhenBusy,
}

/// What to do while a turn is in progress.
#[derive(Debug, Clone, Copy, Default, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum WhenBusy {
    /// Wait in order of arrival.
    #[default]
    Queue,
    /// Answer 409 `conversation_busy`.
    Reject,
}

impl JsonBody for ChatRequest {
    const SCHEMA: &'static str = "ChatRequest";
}

impl ChatRequest {
    fn into_command(self) -> Result<ChatCommand, ApiError> {
        let conversation_id = match self.conversation_id.map(|id| id.parse()) {
            Some(Err(_malformed)) => return Err(ProblemCode::ConversationNotFound.into()),
            Some(Ok(id)) => Some(id),
            None => None,
        };
        Ok(ChatCommand {
            agent_id: self
                .agent_id
                .parse()
                .map_err(|_malformed| ProblemCode::AgentNotFound)?,
            message: self.message,
            conversation_id,
            user_id: self.user_id,
            metadata: self.metadata,
            on_busy: match self.on_busy {
                WhenBusy::Queue => OnBusy::Queue,
                WhenBusy::Reject => OnBusy::Reject,
            },
        })
    }
}

/// Chat with an agent: send a message, receive its reply.
#[utoipa::path(
    post, path = "/api/chat", operation_id = "chat", tag = "Chat",
    request_body(content = ChatRequest, example = json!({
        "agentId": "019aa0c2-7f3e-7cc1-9a52-0b6d2f1c8e11", "message": "Hello!",
    })),
    responses(
        (status = 200, description = "The agent's reply.", body = ChatReply),
        (status = 409, description = "The conversation is busy, the turn was cancelled, or the idempotency key is in use."),
        (status = 502, description = "The engine failed."),
        (status = 504, description = "The engine took too long."),
    ),
)]
pub async fn chat(
    authorized: Authorized<ChatWrite>,
    key: IdempotencyHeader,
    body: Json<ChatRequest>,
) -> Result<HttpResponse, ApiError> {
    let started = Instant::now();
    let command = body.0.into_command()?;
    let chatted = authorized
        .chat
        .chat(authorized.caller(), command, key.0)
        .await?;
    let timing = format!(
        "store;dur={:.3}, engine;dur={:.3}, total;dur={:.3}",
        milliseconds(chatted.store),
        milliseconds(chatted.engine),
        milliseconds(started.elapsed()),
    );
    Ok(HttpResponse::Ok()
        .insert_header((SERVER_TIMING, timing))
        .json(chatted.reply))
}

fn milliseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1_000.0
}
