//! The checks of a request that opens a socket. They run before a ticket is redeemed, and again
//! where the socket is created.

use actix_http::ws::{HandshakeError, verify_handshake};
use actix_web::{
    HttpMessage as _, HttpRequest,
    http::{
        Version,
        header::{HeaderMap, SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_PROTOCOL},
    },
};
use domain::ProblemCode;

use super::check_socket_origin;
use crate::{layers::HeadRequest, problem::ApiError, request::QueryParameters, state::HttpState};

/// The WebSocket subprotocol of this service.
pub const SUBPROTOCOL: &str = "agent-service.v1";

/// Rejects a request that cannot open a socket, whatever its credential. Returns the origin of the
/// page that sends it, if any. A rejected request does not use up its ticket.
pub fn check_socket_request<'a>(
    request: &'a HttpRequest,
    state: &HttpState,
) -> Result<Option<&'a str>, ApiError> {
    if !is_upgrade(request) {
        return Err(ProblemCode::UpgradeRequired.into());
    }
    if state.readiness.is_draining() {
        return Err(ProblemCode::Draining.into());
    }
    // The middleware has already accepted the ticket.
    QueryParameters::read(request, &["ticket"]).finish()?;
    check_handshake(request)?;
    check_socket_origin(
        request.headers(),
        &state.site.allowed_origins,
        &state.site.public_url,
    )
}

/// Returns whether the client requests a WebSocket. `Upgrade` means nothing in HTTP/1.0 (RFC 9110,
/// section 7.8).
pub fn is_upgrade(request: &HttpRequest) -> bool {
    use HandshakeError::{
        GetMethodRequired, NoConnectionUpgrade, NoVersionHeader, NoWebsocketUpgrade,
        UnsupportedVersion,
    };
    let is_head = request.extensions().contains::<HeadRequest>();
    let verified = verify_handshake(request.head());
    let is_other = matches!(
        verified,
        Err(GetMethodRequired
            | NoConnectionUpgrade
            | NoWebsocketUpgrade
            | NoVersionHeader
            | UnsupportedVersion)
    );
    request.version() >= Version::HTTP_11 && !is_head && !is_other
}

/// Rejects a malformed handshake.
fn check_handshake(request: &HttpRequest) -> Result<(), ApiError> {
    let headers = request.headers();
    if verify_handshake(request.head()).is_err() {
        let detail = "must be 16 bytes in base64";
        return Err(ApiError::header(SEC_WEBSOCKET_KEY.as_str(), detail));
    }
    if offers_only_other_subprotocols(headers) {
        return Err(ProblemCode::InvalidSubprotocol.into());
    }
    Ok(())
}

/// Returns true if the client offers subprotocols, but not this service's.
fn offers_only_other_subprotocols(headers: &HeaderMap) -> bool {
    let mut offered = headers.get_all(SEC_WEBSOCKET_PROTOCOL).peekable();
    let is_offered = offered.peek().is_some();
    is_offered
        && !offered.any(|value| {
            let text = value.to_str().unwrap_or_default();
            text.split(',').any(|name| name.trim() == SUBPROTOCOL)
        })
}
