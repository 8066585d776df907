//! Messages by HTTP. The client of the SDK takes in 16 MiB of an answer, and loses a refusal that
//! does not name what it refuses, so that whoever asked waits in vain.

mod stream;

use std::{collections::HashMap, sync::Arc};

use futures::stream::BoxStream;
use reqwest::{
    Client, Response, StatusCode,
    header::{ACCEPT, CONTENT_TYPE, HeaderName, HeaderValue},
};
use rmcp::{
    model::{ClientJsonRpcMessage, ErrorCode, ErrorData, RequestId, ServerJsonRpcMessage},
    transport::streamable_http_client::{
        HttpStatusError, SseError, StreamableHttpClient, StreamableHttpError,
        StreamableHttpPostResponse as Posted,
    },
};
use sse_stream::Sse;

use self::stream::events;

/// What a session is known by.
const SESSION: &str = "Mcp-Session-Id";
const EVENTS: &str = "text/event-stream";
const JSON: &str = "application/json";

/// The most bytes of a refusal that are read.
const LARGEST_REFUSAL: usize = 64 * 1024;

/// What servers answer who were started anew and no longer know whom they talk to. A tool may say
/// the same of itself, but not with a status of HTTP.
const UNKNOWN_SESSION: ErrorCode = ErrorCode(-32_000);

type Failed = StreamableHttpError<reqwest::Error>;

/// Puts messages to a server.
#[derive(Clone)]
pub(crate) struct WebClient(Client);

/// More was answered than is read.
struct TooLarge;

impl WebClient {
    pub(crate) const fn new(client: Client) -> Self {
        Self(client)
    }
}

impl StreamableHttpClient for WebClient {
    type Error = reqwest::Error;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        authorization: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<Posted, Failed> {
        let largest = crate::LARGEST_MESSAGE;
        self.post_message_with_max_sse_event_size(
            uri,
            message,
            session,
            authorization,
            headers,
            largest,
        )
        .await
    }

    async fn post_message_with_max_sse_event_size(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        _authorization: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
        largest: usize,
    ) -> Result<Posted, Failed> {
        let mut request = self.0.post(uri.as_ref());
        request = request.header(ACCEPT, format!("{EVENTS}, {JSON}"));
        request = request.headers(headers.into_iter().collect());
        if let Some(session) = &session {
            request = request.header(SESSION, session.as_ref());
        }
        let response = request.json(&message).send().await?;
        let asked = match message {
            ClientJsonRpcMessage::Request(request) => Some(request.id),
            _ => None,
        };
        match (response.status(), asked) {
            (StatusCode::NOT_FOUND, _) if session.is_some() => Err(Failed::SessionExpired),
            (status, asked) if !status.is_success() => {
                refusal(response, asked, session.is_some()).await
            }
            (StatusCode::ACCEPTED | StatusCode::NO_CONTENT, _) | (_, None) => Ok(Posted::Accepted),
            (_, Some(asked)) => answer(response, asked, largest).await,
        }
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session: Arc<str>,
        authorization: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<(), Failed> {
        let client = &self.0;
        client
            .delete_session(uri, session, authorization, headers)
            .await
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session: Option<Arc<str>>,
        last_event: Option<String>,
        authorization: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<BoxStream<'static, Result<Sse, SseError>>, Failed> {
        let client = &self.0;
        client
            .get_stream_with_max_sse_event_size(
                uri,
                session,
                last_event,
                authorization,
                headers,
                crate::LARGEST_MESSAGE,
            )
            .await
    }
}

/// A message, or a stream that has it.
async fn answer(response: Response, asked: RequestId, largest: usize) -> Result<Posted, Failed> {
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
            serde_json::from_slice(&body).or(Err(unexpected("what it answers is no message")))?
        }
        Err(TooLarge) => too_large(asked),
    };
    Ok(Posted::Json(message, session))
}

/// What a server says that will not answer. It may leave out what it refuses.
async fn refusal(
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

fn too_large(asked: RequestId) -> ServerJsonRpcMessage {
    let error = ErrorData::internal_error(crate::TOO_LARGE, None);
    ServerJsonRpcMessage::error(error, Some(asked))
}

fn unexpected(reason: &'static str) -> Failed {
    Failed::UnexpectedServerResponse(reason.into())
}
