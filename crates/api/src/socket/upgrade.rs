//! `GET /api/ws`: from an HTTP request to a socket.

use std::sync::Arc;

use actix_http::ws::{HandshakeError, verify_handshake};
use actix_web::{
    HttpMessage as _, HttpRequest, HttpResponse,
    body::MessageBody as _,
    http::header::{HeaderMap, SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_PROTOCOL},
    web::{Data, Payload},
};
use application::access::Entrant;
use domain::ProblemCode;

use super::{
    MESSAGE_BYTES,
    context::{Admission, Context, admit},
    guarded, outgoing,
    session::Session,
};
use crate::{
    access::{Authorized, EventsRead, SealedServices, check_upgrade, unauthenticated},
    connection::Progress,
    layers::WasHead,
    problem::ApiError,
    request::QueryParameters,
    state::ApiState,
};

/// The subprotocol that is spoken here.
pub const SUBPROTOCOL: &str = "agent-service.v1";

/// Open a WebSocket: commands go in, what happens comes out.
///
/// Every frame is one JSON object, as `/asyncapi.json` describes them. The credential comes in a
/// header, as `ticket`, or as `token` in the first frame (`connect`), which then is due within 10
/// seconds. A page's `Origin` must be one that the server allows.
#[utoipa::path(
    get, path = "/api/ws", operation_id = "open_socket", tag = "Events",
    params(
        ("ticket" = Option<String>, Query, description = "A ticket, in place of a credential in a header."),
        ("Sec-WebSocket-Protocol" = Option<String>, Header, description = "`agent-service.v1`, if any is named.", example = "agent-service.v1"),
    ),
    responses(
        (status = 101, description = "The socket is open."),
        (status = 400, description = "The handshake is malformed, asks for a subprotocol that is not known, or carries more than one credential."),
        (status = 426, description = "The request is no WebSocket upgrade."),
    ),
)]
pub async fn open_socket(
    request: HttpRequest,
    payload: Payload,
    state: Data<ApiState>,
) -> Result<HttpResponse, ApiError> {
    let services = request
        .app_data::<SealedServices>()
        .cloned()
        .ok_or(ApiError::new(ProblemCode::Internal))?;
    let entrant = request.extensions().get::<Arc<Entrant>>().cloned();
    if !is_upgrade(&request) {
        let entrant = entrant.ok_or_else(unauthenticated)?;
        let _: Authorized<EventsRead> = services.open(entrant)?;
        return Err(ProblemCode::UpgradeRequired.into());
    }
    let page = check_opening(&request, &state)?.map(ToOwned::to_owned);
    let admission = match entrant {
        Some(entrant) => Some(admit(&state, &services, entrant).await?),
        None => None,
    };
    let id = state.ids.next_id().to_string();
    let context = Context::new(state, services, id, page);
    open(&request, payload, context, admission).await
}

/// Refuses a request that opens no socket whoever sends it. Answers the page that it comes from.
/// What is refused here leaves its ticket as it is.
pub fn check_opening<'a>(
    request: &'a HttpRequest,
    state: &ApiState,
) -> Result<Option<&'a str>, ApiError> {
    if !is_upgrade(request) {
        return Err(ProblemCode::UpgradeRequired.into());
    }
    if state.readiness.is_draining() {
        return Err(ProblemCode::Draining.into());
    }
    // The layers let in whoever sends a ticket.
    QueryParameters::read(request, &["ticket"]).finish()?;
    check_handshake(request)?;
    check_upgrade(request.headers(), &state.allowed_origins, &state.public_url)
}

/// Whether the client wants to speak WebSocket.
fn is_upgrade(request: &HttpRequest) -> bool {
    use HandshakeError::{
        GetMethodRequired, NoConnectionUpgrade, NoVersionHeader, NoWebsocketUpgrade,
        UnsupportedVersion,
    };
    let is_head = request.extensions().contains::<WasHead>();
    let verified = verify_handshake(request.head());
    let is_other = matches!(
        verified,
        Err(GetMethodRequired
            | NoConnectionUpgrade
            | NoWebsocketUpgrade
            | NoVersionHeader
            | UnsupportedVersion)
    );
    !is_head && !is_other
}

/// Refuses a handshake that cannot be answered.
fn check_handshake(request: &HttpRequest) -> Result<(), ApiError> {
    let headers = request.headers();
    if verify_handshake(request.head()).is_err() {
        let detail = "16 bytes in base64";
        return Err(ApiError::header(SEC_WEBSOCKET_KEY.as_str(), detail));
    }
    if offers_others_only(headers) {
        return Err(ProblemCode::InvalidSubprotocol.into());
    }
    Ok(())
}

/// Whether the client names subprotocols, and ours is not among them.
fn offers_others_only(headers: &HeaderMap) -> bool {
    let mut offered = headers.get_all(SEC_WEBSOCKET_PROTOCOL).peekable();
    let is_offered = offered.peek().is_some();
    is_offered
        && !offered.any(|value| {
            let text = value.to_str().unwrap_or_default();
            text.split(',').any(|name| name.trim() == SUBPROTOCOL)
        })
}

async fn open(
    request: &HttpRequest,
    payload: Payload,
    context: Context,
    admission: Option<Admission>,
) -> Result<HttpResponse, ApiError> {
    let failed =
        |error: actix_web::Error| ApiError::new(ProblemCode::Internal).because(error.to_string());
    let payload = guarded(request, payload).await.map_err(failed)?;
    let handled = actix_ws::handle_with_protocols(request, payload, &[SUBPROTOCOL]);
    let (response, _, messages) = handled.map_err(failed)?;
    let mut made = None;
    let response = response.map_body(|_, replaced| {
        let (outgoing, body) = outgoing(replaced);
        made = Some(outgoing);
        body.boxed()
    });
    let outgoing = made.ok_or(ApiError::new(ProblemCode::Internal))?;
    let messages = messages
        .aggregate_continuations()
        .max_continuation_size(usize::try_from(MESSAGE_BYTES).unwrap_or(usize::MAX));
    let progress = Progress::of(request);
    let session = Session::new(context, admission, messages, outgoing, progress);
    actix_web::rt::spawn(session.run());
    Ok(response)
}
