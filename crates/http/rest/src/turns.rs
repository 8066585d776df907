//! `/api/turns/{id}`.

use actix_web::HttpResponse;
use domain::{Turn, TurnId};
use kit::{
    auth::{Authorized, ChatWrite, TurnsRead},
    problem::ApiError,
    reads,
    request::PathId,
};

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
