//! Responses to POST requests.

use http_clients::has_media_type;
use reqwest::{Response, StatusCode};
use rmcp::{
    model::{ErrorCode, ErrorData, RequestId, ServerJsonRpcMessage},
    transport::streamable_http_client::{
        HttpStatusError, StreamableHttpPostResponse as PostResponse,
    },
};

use super::{EVENTS, JSON, SESSION, TransportError, stream::events};
use crate::nesting::prune;

/// The maximum number of bytes of an error response.
const MAX_ERROR_BODY_BYTES: usize = 64 * 1024;

/// The error codes of servers that were restarted and do not know the session. A tool may return the
/// same codes, but not with an HTTP error status.
const UNKNOWN_SESSION: [ErrorCode; 2] = [ErrorCode(-32_000), ErrorCode(-32_001)];

/// The body exceeds the maximum size.
struct TooLarge;

/// Returns the message that responds to a request, or the stream that contains it.
pub(super) async fn response_message(
    response: Response,
    request_id: RequestId,
    max_bytes: usize,
) -> Result<PostResponse, TransportError> {
    let session = response.headers().get(SESSION);
    let session = session.and_then(|session| session.to_str().ok());
    let session = session.map(str::to_owned);
    if has_media_type(&response, EVENTS) {
        return Ok(PostResponse::Sse(
            events(response, request_id, max_bytes),
            session,
        ));
    }
    if !has_media_type(&response, JSON) {
        return Err(unexpected(
            "its response is neither JSON nor an event stream",
        ));
    }
    let message = match body(response, max_bytes).await? {
        Ok(body) => {
            let message = serde_json::from_slice(&prune(&body));
            let message = message.or(Err(unexpected("its response is not a JSON-RPC message")))?;
            check_id(message, request_id)?
        }
        Err(TooLarge) => too_large(request_id),
    };
    Ok(PostResponse::Json(message, session))
}

/// Returns the message if it responds to the request, which waits for no other.
fn check_id(
    message: ServerJsonRpcMessage,
    request_id: RequestId,
) -> Result<ServerJsonRpcMessage, TransportError> {
    let id = match &message {
        ServerJsonRpcMessage::Response(response) => Some(&response.id),
        ServerJsonRpcMessage::Error(error_message) => {
            error_message.id.as_ref().or(Some(&request_id))
        }
        _ => None,
    };
    // Some servers send the number as a string.
    if id.is_none_or(|id| id.to_string() != request_id.to_string()) {
        return Err(unexpected("its response is for another request"));
    }
    Ok(match message {
        ServerJsonRpcMessage::Error(error_message) => {
            ServerJsonRpcMessage::error(error_message.error, Some(request_id))
        }
        other => other,
    })
}

/// Converts an error response, which may lack the id of the request.
pub(super) async fn error_response(
    response: Response,
    request_id: Option<RequestId>,
    has_session: bool,
) -> Result<PostResponse, TransportError> {
    let status = response.status();
    let failed = || Err(HttpStatusError::new(status.as_u16(), None).into());
    let has_no_detail = matches!(
        status,
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN | StatusCode::TOO_MANY_REQUESTS
    );
    if has_no_detail {
        return failed();
    }
    let is_json = has_media_type(&response, JSON);
    let Ok(body) = body(response, MAX_ERROR_BODY_BYTES).await? else {
        return failed();
    };
    let parsed = serde_json::from_slice(&body);
    let code = match &parsed {
        Ok(ServerJsonRpcMessage::Error(error_message)) => Some(error_message.error.code),
        _ => None,
    };
    if has_session && is_unknown_session(status, code, &body) {
        return Err(TransportError::SessionExpired);
    }
    match (parsed, request_id) {
        _ if !is_json => failed(),
        (Ok(ServerJsonRpcMessage::Error(error_message)), Some(request_id)) => {
            let message = ServerJsonRpcMessage::error(error_message.error, Some(request_id));
            Ok(PostResponse::Json(message, None))
        }
        _ => failed(),
    }
}

/// Returns whether an error response says that the server does not know the session. Servers differ in
/// its code, and some send only a text.
fn is_unknown_session(status: StatusCode, code: Option<ErrorCode>, body: &[u8]) -> bool {
    let names_session = || {
        let text = String::from_utf8_lossy(body).to_ascii_lowercase();
        text.contains("session")
    };
    let is_code = code.is_some_and(|code| UNKNOWN_SESSION.contains(&code));
    status.is_client_error() && (is_code || names_session())
}

/// Reads the body, of at most `max_bytes` bytes.
async fn body(
    mut response: Response,
    max_bytes: usize,
) -> Result<Result<Vec<u8>, TooLarge>, TransportError> {
    let mut body = Vec::new();
    while let Some(part) = response.chunk().await? {
        if part.len() > max_bytes - body.len() {
            return Ok(Err(TooLarge));
        }
        body.extend_from_slice(&part);
    }
    Ok(Ok(body))
}

pub(super) fn too_large(request_id: RequestId) -> ServerJsonRpcMessage {
    let error = ErrorData::internal_error(crate::TOO_LARGE, None);
    ServerJsonRpcMessage::error(error, Some(request_id))
}

pub(super) fn unexpected(reason: &'static str) -> TransportError {
    TransportError::UnexpectedServerResponse(reason.into())
}
