//! `/api/turns`.

mod list;

use actix_web::{HttpRequest, HttpResponse, web::Data};
use application::chat::ChatError;
use domain::{ProblemCode, Turn, TurnEvent, TurnId};
use kit::{
    actions::ActionsRequest,
    auth::{Authorized, ChatWrite, ToolsAnswer, TurnsRead},
    chat::ResponseMode,
    problem::ApiError,
    reads,
    request::{Json, PathId},
    state::HttpState,
};

pub use self::list::{__path_list_turns, list_turns};
use crate::chat::{respond_async, stream_turn};

/// The expected form of a time, in words.
pub(crate) const TIME_IN_WORDS: &str = "must be an RFC 3339 time";

/// Read a turn.
#[utoipa::path(
    get, path = "/api/turns/{id}", operation_id = "get_turn", tag = "Chat",
    params(("id" = TurnId, Path, description = "The turn.")),
    responses((status = 200, description = "The turn.", body = Turn)),
)]
pub async fn get_turn(
    authorized: Authorized<TurnsRead>,
    id: PathId<TurnId>,
) -> Result<HttpResponse, ApiError> {
    let found = authorized.turns.get(authorized.caller(), id.0).await?;
    Ok(HttpResponse::Ok()
        .insert_header(reads::position(found.position))
        .json(found.value))
}

/// Answer tool calls of a turn that waits for them (`status: "requires_action"`).
///
/// A call with `needs: "approval"` takes a `decision`, one with `needs: "output"` an `output` or an
/// `error`. The first answer to a call wins; the same answer again changes nothing. With the last answer
/// the turn goes on. The response is the turn when it has ended or waits again, or, as for a chat, its
/// events, which continue the reply after `turn.resumed`, or with `Prefer: respond-async` the turn at once.
///
/// A decision about a call with `approver: "staff"` requires `tools:approve`, and stands alone in its request.
/// It begins another turn (`continues`), which makes the call and reports its outcome: the response is that
/// turn, or its events. Nobody decides for staff in their own conversation.
#[utoipa::path(
    post, path = "/api/turns/{id}/actions", operation_id = "answer_turn", tag = "Chat",
    params(
        ("id" = TurnId, Path, description = "The turn."),
        ("Prefer" = Option<String>, Header, description = "`respond-async`: return the turn at once."),
    ),
    request_body(content = ActionsRequest, example = json!({
        "actions": [{"callId": "the id of the call", "decision": "approve"}],
    })),
    responses(
        (status = 200, description = "The turn, or its events.", content(
            (Turn = "application/json"), (TurnEvent = "text/event-stream"),
        )),
        (status = 202, description = "The turn, which continues in the background.", body = Turn),
        (status = 409, description = "A call was answered before, or it is too late."),
    ),
)]
pub async fn answer_turn(
    authorized: Authorized<ToolsAnswer>,
    state: Data<HttpState>,
    request: HttpRequest,
    id: PathId<TurnId>,
    body: Json<ActionsRequest>,
) -> Result<HttpResponse, ApiError> {
    let mode = ResponseMode::from_request(request.headers(), body.0.stream());
    let answers = body.0.into_answers()?;
    // Opened before the answers are stored: if the stream is rejected, they have no effect.
    let slot = match mode {
        ResponseMode::Stream => authorized.open_stream(&state).await?,
        ResponseMode::Async | ResponseMode::Full => None,
    };
    let answering = authorized.turns.answer(authorized.caller(), id.0, answers);
    let accepted = answering.await?;
    let is_continuation = accepted.turn_id != id.0;
    match mode {
        ResponseMode::Stream => Ok(stream_turn(&state, &authorized, &request, slot, accepted)),
        ResponseMode::Full if is_continuation => respond_async(&authorized, accepted).await,
        ResponseMode::Async => respond_async(&authorized, accepted).await,
        ResponseMode::Full => {
            match accepted.reply().await {
                Ok(_) | Err(ChatError::Cancelled) => {}
                // A turn that has failed is a response, too; one that another node continues is not.
                Err(ChatError::Failed(problem)) if problem.code != ProblemCode::Draining => {}
                Err(error) => return Err(error.into()),
            }
            let turn = authorized.turns.get(authorized.caller(), id.0).await?;
            Ok(HttpResponse::Ok().json(turn.value))
        }
    }
}

/// Cancel a queued or running turn. A turn that has already ended is returned unchanged.
#[utoipa::path(
    post, path = "/api/turns/{id}/cancel", operation_id = "cancel_turn", tag = "Chat",
    params(("id" = TurnId, Path, description = "The turn.")),
    responses((status = 200, description = "The turn in its current state.", body = Turn)),
)]
pub async fn cancel_turn(
    authorized: Authorized<ChatWrite>,
    id: PathId<TurnId>,
) -> Result<HttpResponse, ApiError> {
    let turn = authorized.turns.cancel(authorized.caller(), id.0).await?;
    Ok(HttpResponse::Ok().json(turn))
}
