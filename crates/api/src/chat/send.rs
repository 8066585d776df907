//! `POST /api/chat`.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use actix_web::{
    HttpRequest, HttpResponse,
    http::header::{HeaderName, LOCATION},
    web::Data,
};
use application::{access::EntrantWatch, chat::Asked};
use domain::{ChatReply, Turn};
use futures::StreamExt as _;

use super::{
    form::{Form, RESPOND_ASYNC},
    request::ChatRequest,
    stream::{ChatEvent, events},
};
use crate::{
    access::{Authorized, ChatWrite, open_stream},
    connection::Progress,
    layers::RequestId,
    problem::ApiError,
    request::{IdempotencyHeader, Json, told_again},
    sse,
    state::ApiState,
};

const SERVER_TIMING: HeaderName = HeaderName::from_static("server-timing");
const PREFERENCE_APPLIED: HeaderName = HeaderName::from_static("preference-applied");

/// Chat with an agent: send a message, receive its reply.
///
/// With `stream: true`, or `Accept: text/event-stream`, the answer is a stream of server-sent
/// events: `turn.queued` if the turn must wait, `turn.started`, `reply.delta` as the agent speaks,
/// then exactly one of `turn.completed`, `turn.failed`, `turn.cancelled`; only when the credential
/// ends meanwhile, or is revoked, does the stream just end. Closing it does not end the turn. An
/// engine that answers at once, as `rules` does, speaks in one `reply.delta` (or in none, when it
/// says nothing). With `Prefer: respond-async` the answer is the turn, at once.
///
/// Where no reply comes although the message was taken, because its turn failed or was cancelled or
/// can no longer be followed, the problem names the turn in `turnId` and its conversation in
/// `conversationId`: there the message stays.
///
/// `stream` of the body decides before `Accept`, and both before `Prefer`: who asks for a stream gets
/// one, whatever it prefers.
#[utoipa::path(
    post, path = "/api/chat", operation_id = "chat", tag = "Chat",
    request_body(content = ChatRequest, example = json!({
        "agentId": "019aa0c2-7f3e-7cc1-9a52-0b6d2f1c8e11", "message": "Hello!",
    })),
    params(("Prefer" = Option<String>, Header, description = "`respond-async`: answer with the turn at once, and let it be read at its `Location`.")),
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
    state: Data<ApiState>,
    request: HttpRequest,
    key: IdempotencyHeader,
    body: Json<ChatRequest>,
) -> Result<HttpResponse, ApiError> {
    let began = Instant::now();
    let form = Form::of(request.headers(), body.0.stream());
    let command = body.0.into_command(RequestId::of(&request))?;
    // Before anything is stored: who may not open a stream has asked nothing.
    let place = match form {
        Form::Stream => Some(open_stream(&state.limits, authorized.entrant()).await?),
        Form::Turn | Form::Whole => None,
    };
    let asked = authorized
        .chat
        .ask(authorized.caller(), command, key.0)
        .await?;
    let (turn_id, conversation_id) = (asked.turn_id, asked.conversation_id);
    let is_replayed = asked.is_replayed;
    let answer = match form {
        Form::Stream => {
            let watch =
                Arc::clone(&state.authenticator).watch_over(Arc::clone(authorized.entrant()));
            let end = over(watch, Progress::of(&request).left());
            let held = events(asked).map(move |event| {
                let _until_its_end = &place;
                event
            });
            Ok(sse::stream(held.take_until(Box::pin(end))))
        }
        Form::Turn => turn(&authorized, asked).await,
        Form::Whole => whole(asked, began).await,
    };
    told_again(answer, is_replayed).map_err(|error| ApiError {
        // What was stored can be found, also in a conversation that nobody knows of yet.
        turn: Some(Box::new((turn_id, conversation_id))),
        ..error
    })
}

/// Waits until a stream ends before its turn does: its credential is over, or its client gone. The
/// turn goes on.
async fn over(mut watch: EntrantWatch, left: impl Future<Output = ()>) {
    tokio::select! {
        _ = watch.over() => {}
        () = left => {}
    }
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
    let turn = authorized.turns.asked(authorized.caller(), asked).await?;
    Ok(HttpResponse::Accepted()
        .insert_header((LOCATION, format!("/api/turns/{}", turn.id)))
        .insert_header((PREFERENCE_APPLIED, RESPOND_ASYNC))
        .json(turn))
}

fn milliseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1_000.0
}
