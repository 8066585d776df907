//! `GET /api/ws`: from an HTTP request to a socket.

use std::sync::Arc;

use actix_web::{
    HttpMessage as _, HttpRequest, HttpResponse,
    body::MessageBody as _,
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
    access::{
        Authorized, EventsRead, SUBPROTOCOL, SealedServices, check_opening, is_upgrade,
        unauthenticated,
    },
    connection::Progress,
    problem::ApiError,
    state::ApiState,
};

/// Open a WebSocket: commands go in, what happens comes out.
///
/// Every frame is one JSON object, as `/asyncapi.json` describes them. The credential comes in a
/// header, as `ticket`, or as `token` in the first frame (`connect`), which then is due within 10
/// seconds. A page's `Origin` must be one that the server allows.
#[utoipa::path(
    get, path = "/api/ws", operation_id = "open_socket", tag = "Events",
    params(
        ("ticket" = Option<String>, Query, description = "A ticket, in place of a credential in a header."),
        ("Sec-WebSocket-Protocol" = Option<String>, Header, description = "`agent-service.v1`, if any is named."),
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
