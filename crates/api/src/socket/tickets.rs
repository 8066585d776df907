//! `/api/ws/tickets`.

use actix_web::{HttpRequest, HttpResponse, web::Data};
use domain::{Scope, Scopes};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{
    access::{Authorized, EventsRead, check_upgrade},
    problem::ApiError,
    request::{JsonBody, OptionalJson},
    state::ApiState,
};

/// What a ticket is asked for.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TicketRequest {
    /// What it allows: nothing that the caller may not, and `events:read`, without which no socket
    /// is opened. Default: all that the caller may.
    #[serde(default)]
    #[schema(value_type = Vec<Scope>, min_items = 1, nullable = false)]
    scopes: Option<Scopes>,
}

impl JsonBody for TicketRequest {
    const SCHEMA: &'static str = "TicketRequest";
}

/// A ticket that was just made.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct TicketBody {
    /// The ticket, to be sent as `?ticket=` when a socket is opened.
    #[schema(example = "agt_…")]
    ticket: String,
    /// Seconds until it ends.
    #[schema(example = 30)]
    expires_in: u64,
}

/// Make a ticket for one socket. It lets the caller in once more, from where no credential can be
/// sent: a page sends it as `?ticket=` when it opens a socket. It is good once, for 30 seconds, and
/// on pages of the origin that fetched it; without an `Origin`, on all that may open sockets. The
/// socket lives as long as the credential that the ticket was fetched with. Nothing is kept of the
/// answer, so there is no `Idempotency-Key`: a ticket that got lost just ends. A page whose origin
/// may open no socket gets none.
#[utoipa::path(
    post, path = "/api/ws/tickets", operation_id = "create_ticket", tag = "Events",
    request_body(content = TicketRequest, example = json!({"scopes": ["events:read"]})),
    responses((status = 201, description = "The ticket.", body = TicketBody)),
)]
pub async fn create_ticket(
    authorized: Authorized<EventsRead>,
    state: Data<ApiState>,
    request: HttpRequest,
    wanted: OptionalJson<TicketRequest>,
) -> Result<HttpResponse, ApiError> {
    // A page that may open no socket would have no use for it.
    let page = check_upgrade(request.headers(), &state.allowed_origins, &state.public_url)?;
    let (entrant, scopes) = (authorized.entrant(), wanted.0.scopes);
    let issued = state.tickets.issue(entrant, scopes, page).await?;
    Ok(HttpResponse::Created().json(TicketBody {
        ticket: issued.text.reveal().to_owned(),
        expires_in: issued.expires_in,
    }))
}
