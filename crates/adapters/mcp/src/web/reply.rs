//! What a server answers to a request.

use reqwest::{Response, StatusCode, header::CONTENT_TYPE};
use rmcp::{
    model::{ErrorCode, ErrorData, RequestId, ServerJsonRpcMessage},
    transport::streamable_http_client::{HttpStatusError, StreamableHttpPostResponse as Posted},
};

use super::{EVENTS, Failed, JSON, SESSION, stream::events};
use crate::nesting::prune;

/// The most bytes of a refusal that are read.
const LARGEST_REFUSAL: usize = 64 * 1024;

/// What servers answer who were started anew and no longer know whom they talk to. A tool may say
/// the same of itself, but not with a status of HTTP.
const UNKNOWN_SESSION: ErrorCode = ErrorCode(-32_000);

/// More was answered than is read.
struct TooLarge;

/// A message, or a stream that has it.
pub(super) async fn answer(
    response: Response,
    asked: RequestId,
    largest: usize,
) -> Result<Posted, Failed> {
    let session = response.headers().get(SESSION);
    let session = session.and_then(|session| session.to_str().ok());
    let session = session.map(str::to_owned);
    if is(&response, EVENTS) {
        return Ok(Posted::Sse(events(response, asked, largest), session));
    }
    if !is(&response, JSON) {
        return Err(unexpected("it answers neither JSON nor a stream"));
    }
    let message = match body(response, largest).await? {
        Ok(body) => {
            let message = serde_json::from_slice(&prune(&body));
            let message = message.or(Err(unexpected("what it answers is no message")))?;
            addressed(message, asked)?
        }
        Err(TooLarge) => too_large(asked),
    };
    Ok(Posted::Json(message, session))
}

/// The message, if it answers what was asked: whoever asked waits for nothing else.
fn addressed(
    message: ServerJsonRpcMessage,
    asked: RequestId,
) -> Result<ServerJsonRpcMessage, Failed> {
    let id = match &message {
        ServerJsonRpcMessage::Response(response) => Some(&response.id),
        ServerJsonRpcMessage::Error(refusal) => refusal.id.as_ref().or(Some(&asked)),
        _ => None,
    };
    // Some servers write the number as text.
    if id.is_none_or(|id| id.to_string() != asked.to_string()) {
        return Err(unexpected("it answers what it was not asked"));
    }
    Ok(match message {
        ServerJsonRpcMessage::Error(refusal) => {
            ServerJsonRpcMessage::error(refusal.error, Some(asked))
        }
        answer => answer,
    })
}

/// What a server says that will not answer. It may leave out what it refuses.
pub(super) async fn refusal(
    response: Response,
    asked: Option<RequestId>,
    has_session: bool,
) -> Result<Posted, Failed> {
    let status = response.status();
    let failed = || Err(HttpStatusError::new(status.as_u16(), None).into());
    let says_nothing = matches!(
        status,
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN | StatusCode::TOO_MANY_REQUESTS
    );
    if says_nothing || !is(&response, JSON) {
        return failed();
    }
    let Ok(body) = body(response, LARGEST_REFUSAL).await? else {
        return failed();
    };
    match (serde_json::from_slice(&body), asked) {
        (Ok(ServerJsonRpcMessage::Error(refusal)), _)
            if has_session && refusal.error.code == UNKNOWN_SESSION =>
        {
            Err(Failed::SessionExpired)
        }
        (Ok(ServerJsonRpcMessage::Error(refusal)), Some(asked)) => {
            let message = ServerJsonRpcMessage::error(refusal.error, Some(asked));
            Ok(Posted::Json(message, None))
        }
        _ => failed(),
    }
}

fn is(response: &Response, kind: &str) -> bool {
    let told = response.headers().get(CONTENT_TYPE);
    told.is_some_and(|told| told.as_bytes().starts_with(kind.as_bytes()))
}

/// All of the body, if it has no more than `largest` bytes.
async fn body(mut response: Response, largest: usize) -> Result<Result<Vec<u8>, TooLarge>, Failed> {
    let mut body = Vec::new();
    while let Some(part) = response.chunk().await? {
        if part.len() > largest - body.len() {
            return Ok(Err(TooLarge));
        }
        body.extend_from_slice(&part);
    }
    Ok(Ok(body))
}

pub(super) fn too_large(asked: RequestId) -> ServerJsonRpcMessage {
    let error = ErrorData::internal_error(crate::TOO_LARGE, None);
    ServerJsonRpcMessage::error(error, Some(asked))
}

pub(super) fn unexpected(reason: &'static str) -> Failed {
    Failed::UnexpectedServerResponse(reason.into())
}
