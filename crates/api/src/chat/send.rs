//! `POST /api/chat`.

use std::time::{Duration, Instant};

use actix_web::{
    HttpRequest, HttpResponse,
    http::header::{HeaderName, LOCATION},
};
use application::chat::Asked;
use domain::{ChatReply, Turn};

use super::{
    form::{Form, RESPOND_ASYNC},
    request::ChatRequest,
    stream::{ChatEvent, events},
};
use crate::{
    access::{Authorized, ChatWrite},
    problem::ApiError,
    request::{IdempotencyHeader, Json, REPLAYED},
    sse,
};

const SERVER_TIMING: HeaderName = HeaderName::from_static("server-timing");
const PREFERENCE_APPLIED: HeaderName = HeaderName::from_static("preference-applied");

/// Chat with an agent: send a message, receive its reply.
///
/// With `stream: true`, or `Accept: text/event-stream`, the answer is a stream of server-sent
/// events: `turn.queued` if the turn must wait, `turn.started`, `reply.delta` as the agent speaks,
/// then exactly one of `turn.completed`, `turn.failed`, `turn.cancelled`. Closing the stream does
/// not end the turn. With `Prefer: respond-async` the answer is the turn, at once.
#[utoipa::path(
    post, path = "/api/chat", operation_id = "chat", tag = "Chat",
    request_body(content = ChatRequest, example = json!({
        "agentId": "019aa0c2-7f3e-7cc1-9a52-0b6d2f1c8e11", "message": "Hello!",
    })),
    params(("Prefer" = Option<String>, Header, description = "`respond-async`: answer with the turn at once, and let it be read at its `Location`.", example = "respond-async")),
    responses(
        (status = 200, description = "The agent's reply, whole or as a stream.", content(
            (ChatReply = "application/json"), (ChatEvent = "text/event-stream"),
        )),
        (status = 202, description = "The turn, which goes on by itself.", body = Turn),
        (status = 409, description = "The conversation is busy, the turn was cancelled, or the idempotency key is in use."),
        (status = 429, description = "Too many requests, or too many open streams."),
        (status = 502, description = "The engine failed."),
        (status = 504, description = "The engine took too long."),
    ),
)]
pub async fn chat(
    authorized: Authorized<ChatWrite>,
    request: HttpRequest,
    key: IdempotencyHeader,
    body: Json<ChatRequest>,
) -> Result<HttpResponse, ApiError> {
    let began = Instant::now();
    let form = Form::of(request.headers(), body.0.stream())?;
    let command = body.0.into_command()?;
    let asked = authorized
        .chat
        .ask(authorized.caller(), command, key.0)
        .await?;
    let is_replayed = asked.is_replayed;
    let mut response = match form {
        Form::Stream => sse::stream(events(asked)),
        Form::Turn => turn(&authorized, asked).await?,
        Form::Whole => whole(asked, began).await.map_err(|error| ApiError {
            is_replayed,
            ..error
        })?,
    };
    if is_replayed {
        let (name, value) = REPLAYED;
        let value = actix_web::http::header::HeaderValue::from_static(value);
        response.headers_mut().insert(name, value);
    }
    Ok(response)
}

async fn whole(asked: Asked, began: Instant) -> Result<HttpResponse, ApiError> {
    let chatted = asked.reply().await?;
    let timing = format!(
        "store;dur={:.3}, engine;dur={:.3}, total;dur={:.3}",
        milliseconds(chatted.store),
        milliseconds(chatted.engine),
        milliseconds(began.elapsed()),
    );
    Ok(HttpResponse::Ok()
        .insert_header((SERVER_TIMING, timing))
        .json(chatted.reply))
}

async fn turn(authorized: &Authorized<ChatWrite>, asked: Asked) -> Result<HttpResponse, ApiError> {
    let caller = authorized.caller();
    let turn = authorized.turns.get(caller, asked.turn_id).await?.value;
    Ok(HttpResponse::Accepted()
        .insert_header((LOCATION, format!("/api/turns/{}", turn.id)))
        .insert_header((PREFERENCE_APPLIED, RESPOND_ASYNC))
        .json(turn))
}

fn milliseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1_000.0
}
