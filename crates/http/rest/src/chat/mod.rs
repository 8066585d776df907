//! `POST /api/chat`.

mod stream;

use std::time::{Duration, Instant};

use actix_web::{
    HttpRequest, HttpResponse,
    http::header::{HeaderName, LOCATION},
    web::Data,
};
use application::{
    ChatCommand,
    chat::{AcceptedTurn, EphemeralChat},
    live_turns::CompletedChat,
};
use domain::{ChatReply, IdempotencyKey, Turn, TurnEvent};
use kit::{
    auth::{Authorized, ChatWrite},
    chat::{ChatRequest, RESPOND_ASYNC, ResponseMode},
    layers::RequestId,
    problem::ApiError,
    request::{IdempotencyHeader, Json, mark_replayed},
    state::HttpState,
    turn_stream::whole_reply,
};

pub(crate) use stream::stream_turn;

const SERVER_TIMING: HeaderName = HeaderName::from_static("server-timing");
const PREFERENCE_APPLIED: HeaderName = HeaderName::from_static("preference-applied");

/// Chat with an agent: send a message, receive its reply.
///
/// With `stream: true`, or `Accept: text/event-stream`, the response is a stream of server-sent
/// events: `turn.queued` if the turn must wait, `turn.started`, `reasoning.delta` for each piece of the model's
/// reasoning where `showReasoning` shows it, `reply.delta` for each piece of the reply, then exactly one of `turn.completed`, `turn.failed` and `turn.cancelled`. If the
/// credential expires or is revoked meanwhile, the stream ends without such an event. Closing the
/// stream does not end the turn. An engine that replies at once, such as `rules`, sends the reply
/// in one `reply.delta`, or in none if the reply is empty. With `Prefer: respond-async` the
/// response is the turn, without waiting for the reply.
///
/// If a message was accepted and no reply can be returned, because its turn failed, was cancelled
/// or cannot be followed any longer, the problem contains the turn in `turnId` and its conversation
/// in `conversationId`. The message stays in that conversation.
///
/// `stream` in the body takes precedence over `Accept`, and both over `Prefer`: a client that
/// requests a stream receives a stream, whatever it prefers.
#[utoipa::path(
    post, path = "/api/chat", operation_id = "chat", tag = "Chat",
    request_body(content = ChatRequest, example = json!({
        "agentId": "the id of an agent", "message": "Hello!",
    })),
    params(("Prefer" = Option<String>, Header, description = "`respond-async`: return the turn at once; its state can be read at its `Location`.")),
    responses(
        (status = 200, description = "The agent's reply, whole or as a stream.", content(
            (ChatReply = "application/json"), (TurnEvent = "text/event-stream"),
        )),
        (status = 202, description = "The turn, which continues in the background.", body = Turn),
        (status = 409, description = "The conversation is busy, the turn was cancelled, or the idempotency key is in use."),
        (status = 429, description = "Too many requests, or too many open streams."),
        (status = 502, description = "The engine failed."),
        (status = 504, description = "The engine took too long."),
    ),
)]
pub async fn chat(
    authorized: Authorized<ChatWrite>,
    state: Data<HttpState>,
    request: HttpRequest,
    key: IdempotencyHeader,
    body: Json<ChatRequest>,
) -> Result<HttpResponse, ApiError> {
    let began = Instant::now();
    let mode = ResponseMode::from_request(request.headers(), body.0.stream());
    let message = SentChat::new(body.0, RequestId::of(&request), mode, key.0)?;
    // Opened before the message is stored: if the stream is rejected, the message has no effect.
    let slot = match mode {
        ResponseMode::Stream => authorized.open_stream(&state).await?,
        ResponseMode::Async | ResponseMode::Full => None,
    };
    let is_stored = matches!(message, SentChat::Stored(..));
    let accepted = match message {
        SentChat::Stored(command, key) => {
            let sending = authorized
                .chat
                .send(authorized.chat_caller(), *command, key);
            sending.await?
        }
        SentChat::Ephemeral(chat, key) => {
            let sending = authorized
                .chat
                .send_ephemeral(authorized.chat_caller(), *chat, key);
            sending.await?
        }
    };
    let (turn_id, conversation_id) = (accepted.turn_id, accepted.conversation_id);
    let is_replayed = accepted.is_replayed;
    let response = match mode {
        ResponseMode::Stream => Ok(stream_turn(&state, &authorized, &request, slot, accepted)),
        ResponseMode::Async => respond_async(&authorized, accepted).await,
        ResponseMode::Full => {
            let completed = whole_reply(&request, accepted, is_stored).await;
            completed.map(|completed| respond_full(completed, began))
        }
    };
    mark_replayed(response, is_replayed).map_err(|error| ApiError {
        // The client can find the stored turn by these ids, also if it does not know the
        // conversation yet.
        turn: is_stored.then(|| Box::new((turn_id, conversation_id))),
        ..error
    })
}

/// A message that is stored in a conversation, or that is not stored.
enum SentChat {
    Stored(Box<ChatCommand>, Option<IdempotencyKey>),
    Ephemeral(Box<EphemeralChat>, Option<IdempotencyKey>),
}

impl SentChat {
    fn new(
        body: ChatRequest,
        request_id: Option<String>,
        mode: ResponseMode,
        key: Option<IdempotencyKey>,
    ) -> Result<Self, ApiError> {
        if body.is_stored() {
            let command = body.into_command(request_id)?;
            return Ok(Self::Stored(Box::new(command), key));
        }
        if mode == ResponseMode::Async {
            let detail = "'respond-async' cannot be combined with 'store: false'";
            return Err(ApiError::header("Prefer", detail));
        }
        let chat = body.into_ephemeral(request_id)?;
        Ok(Self::Ephemeral(Box::new(chat), key))
    }
}

fn respond_full(completed: CompletedChat, began: Instant) -> HttpResponse {
    let timing = format!(
        "store;dur={:.3}, engine;dur={:.3}, total;dur={:.3}",
        milliseconds(completed.store),
        milliseconds(completed.engine),
        milliseconds(began.elapsed()),
    );
    HttpResponse::Ok()
        .insert_header((SERVER_TIMING, timing))
        .json(completed.reply)
}

pub(crate) async fn respond_async<R>(
    authorized: &Authorized<R>,
    accepted: AcceptedTurn,
) -> Result<HttpResponse, ApiError> {
    let turn = authorized
        .turns
        .accepted_turn(authorized.caller(), accepted)
        .await?;
    Ok(HttpResponse::Accepted()
        .insert_header((LOCATION, format!("/api/turns/{}", turn.id)))
        .insert_header((PREFERENCE_APPLIED, RESPOND_ASYNC))
        .json(turn))
}

fn milliseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1_000.0
}
