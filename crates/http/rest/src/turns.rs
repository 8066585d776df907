//! `/api/turns/{id}`.

use actix_web::{HttpRequest, HttpResponse, web::Data};
use application::chat::ChatError;
use domain::{AgentReach, FaultCode, ProblemCode, Timestamp, Turn, TurnEvent, TurnId};
use kit::{
    actions::ActionsRequest,
    auth::{Authorized, ChatWrite, ConversationsRead, ToolsAnswer, TurnsRead},
    chat::ResponseMode,
    problem::ApiError,
    reads::{self, PageOf},
    request::{Json, PagePermit, PathId, QueryParameters},
    state::HttpState,
};
use ports::{WaitingFor, WaitingQuery};

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

/// List the turns with tool calls that wait for an answer, the newest first. Users see those of their own
/// conversations.
#[utoipa::path(
    get, path = "/api/turns", operation_id = "list_waiting_turns", tag = "Chat",
    params(
        ("waitingFor" = inline(WaitingForParameter), Query, description = "Whose answer they wait for."),
        ("agentId" = Option<String>, Query, description = "Only turns of this agent."),
        ("userId" = Option<String>, Query, description = "Only turns of conversations of this user."),
        ("from" = Option<Timestamp>, Query, description = "Only turns that were created at this time or later."),
        ("to" = Option<Timestamp>, Query, description = "Only turns that were created before this time."),
        ("limit" = Option<u32>, Query, minimum = 1, maximum = 100, description = "Maximum number of items in the page. A page also ends at about 1 MiB. Default 20."),
        ("cursor" = Option<String>, Query, pattern = "^[A-Za-z0-9_-]+$", description = "`nextCursor` of the previous page."),
    ),
    responses((status = 200, description = "A page of turns.", body = PageOf<Turn>)),
)]
pub async fn list_waiting_turns(
    authorized: Authorized<ConversationsRead>,
    _permit: PagePermit,
    request: HttpRequest,
) -> Result<HttpResponse, ApiError> {
    let names = [
        "waitingFor",
        "agentId",
        "userId",
        "from",
        "to",
        "limit",
        "cursor",
    ];
    let mut query = QueryParameters::read(&request, &names);
    let limit = query.limit();
    let waiting_for = match query.text("waitingFor") {
        Some("user") => WaitingFor::User,
        Some("staff") => WaitingFor::Staff,
        _ => {
            query.add_fault("waitingFor", FaultCode::UnknownValue, "'user' or 'staff'");
            WaitingFor::User
        }
    };
    let agent = query.text("agentId").map(ToOwned::to_owned);
    let user_id = query.text("userId").map(ToOwned::to_owned);
    let from = query.parsed("from", TIME_IN_WORDS);
    let to = query.parsed("to", TIME_IN_WORDS);
    let cursor = query.text("cursor").map(ToOwned::to_owned);
    query.finish()?;
    let agent = agent.map(|id| id.parse().map_err(|_malformed| ProblemCode::AgentNotFound));
    let query = WaitingQuery {
        waiting_for,
        agents: AgentReach::ALL.narrowed_to(agent.transpose()?),
        user_id,
        conversation: None,
        from,
        to,
        before: None,
        limit,
    };
    let page = authorized
        .turns
        .list_waiting(authorized.caller(), query, cursor.as_deref());
    Ok(reads::page(&request, page.await?))
}

/// The schema of the parameter `waitingFor`.
#[derive(utoipa::ToSchema)]
#[schema(rename_all = "snake_case")]
#[expect(dead_code, reason = "only its schema is used")]
enum WaitingForParameter {
    /// The user, or a page.
    User,
    /// Members of staff.
    Staff,
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
