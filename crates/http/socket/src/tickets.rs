//! `/api/ws/tickets`.

use actix_web::{HttpRequest, HttpResponse, web::Data};
use domain::{Scope, Scopes};
use kit::{
    auth::{Authorized, EventsRead, check_socket_origin, forwarded_caller},
    problem::ApiError,
    request::{JsonBody, OptionalJson},
    state::HttpState,
};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A request for a ticket.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TicketRequest {
    /// The scopes of the ticket: a subset of the caller's that contains `events:read`, which every
    /// socket needs. Default: all scopes of the caller.
    #[serde(default)]
    #[schema(value_type = Vec<Scope>, min_items = 1, nullable = false)]
    scopes: Option<Scopes>,
}

impl JsonBody for TicketRequest {
    const SCHEMA: &'static str = "TicketRequest";
}

/// A new ticket.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct TicketBody {
    /// The ticket, to be sent as `?ticket=` when a socket is opened.
    #[schema(example = "agt_…")]
    ticket: String,
    /// Seconds until the ticket expires.
    #[schema(example = 30)]
    expires_in: u64,
}

/// Make a ticket for one socket. A ticket authenticates the caller where no header can be sent: a
/// page sends it as `?ticket=` when it opens a socket. It can be used once, within 30 seconds, on
/// pages of the origin that fetched it; if the request has no `Origin`, on all pages that may open
/// sockets. The socket lives as long as the credential that the ticket was fetched with. The
/// response is not stored, so there is no `Idempotency-Key`: an unused ticket expires. A page whose
/// origin may not open sockets gets no ticket.
#[utoipa::path(
    post, path = "/api/ws/tickets", operation_id = "create_ticket", tag = "Events",
    request_body(content = TicketRequest, example = json!({"scopes": ["events:read"]})),
    responses((status = 201, description = "The ticket.", body = TicketBody)),
)]
pub async fn create_ticket(
    authorized: Authorized<EventsRead>,
    state: Data<HttpState>,
    request: HttpRequest,
    wanted: OptionalJson<TicketRequest>,
) -> Result<HttpResponse, ApiError> {
    // A page that may not open sockets cannot use a ticket.
    let forwarded = forwarded_caller(&request);
    let page = match &forwarded {
        Some(caller) => caller.origin.as_deref(),
        None => check_socket_origin(
            request.headers(),
            &state.site.allowed_origins,
            &state.site.public_url,
        )?,
    };
    let (auth, scopes) = (authorized.auth_context(), wanted.0.scopes);
    let issued = state.tickets.issue(auth, scopes, page).await?;
    Ok(HttpResponse::Created().json(TicketBody {
        ticket: issued.text.reveal().to_owned(),
        expires_in: issued.expires_in,
    }))
}
