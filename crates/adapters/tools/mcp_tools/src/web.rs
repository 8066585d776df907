//! Messages over HTTP. The client of the SDK accepts responses of up to 16 MiB, and loses an error
//! response without an id, so that its request would wait until it times out.

mod reply;
mod server_stream;
mod stream;

use std::{collections::HashMap, sync::Arc};

use futures::stream::BoxStream;
use reqwest::{
    Client, StatusCode,
    header::{ACCEPT, AUTHORIZATION, HeaderName, HeaderValue},
};
use rmcp::{
    model::ClientJsonRpcMessage,
    transport::streamable_http_client::{
        SseError, StreamableHttpClient, StreamableHttpError,
        StreamableHttpPostResponse as PostResponse,
    },
};
use sse_stream::Sse;
use tokio::time::sleep;

use crate::{bearers::Bearers, call_meta::sent_call};

use self::{
    reply::{error_response, response_message, unexpected},
    server_stream::{ServerStream, until_error},
};

/// The header with the id of a session.
const SESSION: &str = "Mcp-Session-Id";
const EVENTS: &str = "text/event-stream";
const JSON: &str = "application/json";
/// The header by which a server recognises a repeated call.
const IDEMPOTENCY_KEY: &str = "Idempotency-Key";

type TransportError = StreamableHttpError<reqwest::Error>;

/// Sends messages to a server, in one session.
#[derive(Clone)]
pub(crate) struct WebClient {
    client: Client,
    /// The tokens of calls, if the server receives them.
    bearers: Option<Bearers>,
    server_stream: ServerStream,
}

impl WebClient {
    pub(crate) fn new(client: Client, bearers: Option<Bearers>) -> Self {
        let server_stream = ServerStream::default();
        Self {
            client,
            bearers,
            server_stream,
        }
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
    ) -> Result<PostResponse, TransportError> {
        let max_bytes = crate::MAX_MESSAGE_BYTES;
        self.post_message_with_max_sse_event_size(
            uri,
            message,
            session,
            authorization,
            headers,
            max_bytes,
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
        max_bytes: usize,
    ) -> Result<PostResponse, TransportError> {
        let mut request = self.client.post(uri.as_ref());
        request = request.header(ACCEPT, format!("{EVENTS}, {JSON}"));
        request = request.headers(headers.into_iter().collect());
        if let Some(session) = &session {
            request = request.header(SESSION, session.as_ref());
        }
        if let Some(call) = sent_call(&message) {
            request = request.header(IDEMPOTENCY_KEY, call.id);
            if let Some(bearers) = self.bearers.as_ref().filter(|_| call.has_user) {
                // A call that has ended meanwhile must not be made for nobody.
                let bearer = bearers.get(call.id);
                let bearer = bearer.ok_or_else(|| unexpected("the call has ended"))?;
                request = request.header(AUTHORIZATION, bearer);
            }
        }
        let response = request.json(&message).send().await?;
        let request_id = match message {
            ClientJsonRpcMessage::Request(request) => Some(request.id),
            _ => None,
        };
        match (response.status(), request_id) {
            (StatusCode::NOT_FOUND | StatusCode::GONE, _) if session.is_some() => {
                Err(TransportError::SessionExpired)
            }
            (status, request_id) if !status.is_success() => {
                error_response(response, request_id, session.is_some()).await
            }
            (_, None) => Ok(PostResponse::Accepted),
            (StatusCode::ACCEPTED | StatusCode::NO_CONTENT, _) => {
                Err(unexpected("it accepted a request without responding to it"))
            }
            (_, Some(request_id)) => response_message(response, request_id, max_bytes).await,
        }
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session: Arc<str>,
        authorization: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<(), TransportError> {
        self.client
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
    ) -> Result<BoxStream<'static, Result<Sse, SseError>>, TransportError> {
        let is_server_stream = self.server_stream.matches(last_event.as_deref());
        if is_server_stream {
            let pause = self.server_stream.pause();
            sleep(pause.ok_or(TransportError::ServerDoesNotSupportSse)?).await;
        }
        let max_bytes = crate::MAX_MESSAGE_BYTES;
        let client = &self.client;
        let events = client
            .get_stream_with_max_sse_event_size(
                uri,
                session,
                last_event,
                authorization,
                headers,
                max_bytes,
            )
            .await?;
        let events = until_error(events);
        Ok(if is_server_stream {
            self.server_stream.watched(events)
        } else {
            events
        })
    }
}
