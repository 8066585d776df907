//! `POST /ai-sdk/agents/{id}/object`: the backend of `useObject`, whose responses are the JSON text alone.

use std::pin::Pin;

use actix_web::{
    HttpRequest, HttpResponse,
    http::header::{CACHE_CONTROL, HeaderValue},
    web::{Bytes, Data},
};
use application::{
    ChatCommand, ChatError,
    chat::{AcceptedTurn, EphemeralChat},
    live_turns::{DraftError, DraftStream},
};
use domain::{AgentId, FaultCode, InputFault, ProblemCode};
use futures::stream;
use kit::{
    auth::{Authorized, ChatWrite},
    chat::ChatRequest,
    layers::RequestId,
    problem::ApiError,
    request::{JsonBody as _, LenientJson, PathId},
    sse::{Cut, STREAM_CACHING, X_ACCEL_BUFFERING},
    state::HttpState,
    turn_stream::{Interruption, end_of_connection},
};
use ports::{StreamSlot, ToolUse};
use serde::Deserialize;
use serde_json::{Value, json};

use super::send::named_chat;
use crate::{EndUser, response_schema::response_schema};

/// The body, with any other members.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ObjectBody {
    #[serde(default)]
    message: Value,
    #[serde(default)]
    response_schema: Value,
    /// The chat that the message belongs to; nothing is stored without one.
    #[serde(default)]
    id: Option<String>,
}

/// Sends a message, and responds with the JSON of the reply while the model writes it. The response is cut if that
/// does not become a valid reply.
pub(super) async fn object(
    authorized: Authorized<ChatWrite>,
    state: Data<HttpState>,
    agent: PathId<AgentId>,
    user: EndUser,
    request: HttpRequest,
    body: LenientJson<ObjectBody>,
) -> Result<HttpResponse, ApiError> {
    let sender = Sender {
        authorized: &authorized,
        state: &state,
        agent: agent.0,
        user,
        request_id: RequestId::of(&request),
    };
    let slot = authorized.open_stream(&state).await?;
    let mut draft = sender.send(body.0).await?.draft();
    // An error without any text is a problem like those of other requests.
    let first = draft.next().await.map_err(problem)?;
    let open = OpenObject {
        first,
        draft,
        end: end_of_connection(&state, &authorized, &request),
        _slot: slot,
    };
    let pieces = stream::unfold(Some(open), async |open| open?.next().await);
    Ok(HttpResponse::Ok()
        .insert_header((CACHE_CONTROL, STREAM_CACHING))
        .insert_header((X_ACCEL_BUFFERING, HeaderValue::from_static("no")))
        .content_type("text/plain; charset=utf-8")
        .streaming(Box::pin(pieces)))
}

/// A response that is being sent.
struct OpenObject {
    first: Option<String>,
    draft: DraftStream,
    /// Ends when the credential does, or the client disconnects.
    end: Pin<Box<dyn Future<Output = Interruption>>>,
    _slot: Option<StreamSlot>,
}

impl OpenObject {
    /// Returns the next piece, and what sends the pieces after it.
    async fn next(mut self) -> Option<(Result<Bytes, Cut>, Option<Self>)> {
        let piece = if let Some(first) = self.first.take() {
            Ok(Some(first))
        } else {
            tokio::select! {
                biased;
                _ = &mut self.end => Err(Cut),
                piece = self.draft.next() => piece.map_err(|_broken_off| Cut),
            }
        };
        match piece {
            Ok(piece) => Some((Ok(piece?.into()), Some(self))),
            Err(cut) => Some((Err(cut), None)),
        }
    }
}

struct Sender<'a> {
    authorized: &'a Authorized<ChatWrite>,
    state: &'a HttpState,
    agent: AgentId,
    user: EndUser,
    request_id: Option<String>,
}

impl Sender<'_> {
    async fn send(self, body: ObjectBody) -> Result<AcceptedTurn, ApiError> {
        let chat = body.id.as_deref();
        let chat = chat.map(|id| named_chat(self.agent, self.user.clone(), id));
        let chat = chat.transpose()?;
        self.check(&body)?;
        let schema = response_schema(&body.response_schema, "/responseSchema");
        let schema = schema.map_err(invalid)?;
        let (caller, chats) = (self.authorized.chat_caller(), &self.authorized.chat);
        if schema.is_none() {
            let agent = self
                .authorized
                .agents
                .get(caller.principal, self.agent)
                .await?;
            if agent.value.config.response_schema.is_none() {
                let detail = "required: the agent has none";
                return Err(invalid(InputFault::new(
                    "/responseSchema",
                    FaultCode::Required,
                    detail,
                )));
            }
        }
        let message = body.message.as_str().unwrap_or_default().to_owned();
        if let Some(chat) = chat {
            let command = ChatCommand {
                message: Some(message),
                response_schema: schema,
                ..ChatCommand::in_named_conversation(
                    chat.agent_id,
                    chat.key,
                    chat.user_id,
                    self.request_id,
                )
            };
            return Ok(chats.send(caller, command, None).await?);
        }
        let unrecorded = EphemeralChat {
            agent_id: self.agent,
            message,
            files: Vec::new(),
            history: Vec::new(),
            steps: Vec::new(),
            client_tools: Vec::new(),
            response_schema: schema,
            tool_use: ToolUse::default(),
            omits_refused_messages: true,
            user_id: self.user.0,
            request_id: self.request_id,
        };
        let sending = chats.send_ephemeral(caller, unrecorded, None);
        Ok(sending.await?)
    }

    /// Checks the message against the published schema of a chat.
    fn check(&self, body: &ObjectBody) -> Result<(), ApiError> {
        let chat = json!({
            "agentId": self.agent,
            "message": body.message,
            "userId": self.user.0,
        });
        let schemas = &self.state.bodies.schemas;
        let faults = schemas.check(ChatRequest::SCHEMA, &chat);
        if faults.is_empty() {
            return Ok(());
        }
        Err(ApiError::faults(ProblemCode::ValidationFailed, faults))
    }
}

fn invalid(fault: InputFault) -> ApiError {
    ApiError::faults(ProblemCode::ValidationFailed, vec![fault])
}

fn problem(error: DraftError) -> ApiError {
    match error {
        DraftError::Failed(problem) => ChatError::Failed(*problem).into(),
        DraftError::Unreadable(error) => ChatError::from(error).into(),
    }
}
