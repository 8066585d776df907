//! `GET /api/ws`: upgrades a request to a socket.

use std::sync::Arc;

use access::AuthContext;
use actix_web::{
    HttpMessage as _, HttpRequest, HttpResponse,
    web::{Data, Payload},
};
use domain::ProblemCode;
use kit::{
    auth::{
        Authorized, EventsRead, SealedServices, X_USER_ID, check_socket_request, is_upgrade,
        unauthenticated,
    },
    problem::ApiError,
    state::HttpState,
};
use regions::Regions;

use super::{
    SocketTimeouts,
    connection::Connection,
    context::{Context, admit},
    session::Session,
};

/// Open a WebSocket: send commands, receive events and live data.
///
/// Every frame is one JSON object, as `/asyncapi.json` describes. The client authenticates with a
/// header, with `ticket`, or with `token` in the first frame (`connect`), which is then due within
/// 10 seconds. The `Origin` of a page must be one that the server allows.
#[utoipa::path(
    get, path = "/api/ws", operation_id = "open_socket", tag = "Events",
    params(
        ("ticket" = Option<String>, Query, description = "A ticket, in place of a credential in a header."),
        ("Sec-WebSocket-Protocol" = Option<String>, Header, description = "`agent-service.v1`, if the client offers any."),
    ),
    responses(
        (status = 101, description = "The socket is open."),
        (status = 400, description = "The handshake is malformed, offers only unknown subprotocols, or carries more than one credential."),
        (status = 426, description = "The request is not a WebSocket upgrade."),
    ),
)]
pub async fn open_socket(
    request: HttpRequest,
    payload: Payload,
    state: Data<HttpState>,
    regions: Data<Regions>,
    timeouts: Data<SocketTimeouts>,
) -> Result<HttpResponse, ApiError> {
    let services = request
        .app_data::<SealedServices>()
        .cloned()
        .ok_or(ApiError::new(ProblemCode::Internal))?;
    let auth = request.extensions().get::<Arc<AuthContext>>().cloned();
    if !is_upgrade(&request) {
        let auth = auth.ok_or_else(unauthenticated)?;
        let _: Authorized<EventsRead> = services.open(auth)?;
        return Err(ProblemCode::UpgradeRequired.into());
    }
    let page = check_socket_request(&request, &state)?.map(ToOwned::to_owned);
    let admitted = match auth {
        Some(auth) => Some(admit(&state, &services, auth).await?),
        None => None,
    };
    let id = state.ids.next_id().to_string();
    let names_user = request.headers().contains_key(X_USER_ID);
    let context = Context::new(state, regions, services, id, page, names_user);
    let limits = (**timeouts, context.state.closing.clone());
    let is_admitted = admitted.is_some();
    let (response, connection) = Connection::open(&request, payload, limits, is_admitted).await?;
    let mut session = Session::new(context, admitted, connection);
    actix_web::rt::spawn(async move { session.run().await });
    Ok(response)
}
