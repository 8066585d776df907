//! Messages by HTTP. The client of the SDK takes in 16 MiB of an answer, and loses a refusal that
//! does not name what it refuses, so that whoever asked waits in vain.

mod listening;
mod reply;
mod stream;

use std::{collections::HashMap, sync::Arc};

use futures::stream::BoxStream;
use reqwest::{
    Client, StatusCode,
    header::{ACCEPT, HeaderName, HeaderValue},
};
use rmcp::{
    model::ClientJsonRpcMessage,
    transport::streamable_http_client::{
        SseError, StreamableHttpClient, StreamableHttpError, StreamableHttpPostResponse as Posted,
    },
};
use sse_stream::Sse;
use tokio::time::sleep;

use self::{
    listening::{Listening, resumed},
    reply::{answer, refusal, unexpected},
};

/// What a session is known by.
const SESSION: &str = "Mcp-Session-Id";
const EVENTS: &str = "text/event-stream";
const JSON: &str = "application/json";

type Failed = StreamableHttpError<reqwest::Error>;

/// Puts messages to a server, in one session.
#[derive(Clone)]
pub(crate) struct WebClient {
    client: Client,
    listening: Listening,
}

impl WebClient {
    pub(crate) fn new(client: Client) -> Self {
        let listening = Listening::default();
        Self { client, listening }
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
        let mut request = self.client.post(uri.as_ref());
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
            (_, None) => Ok(Posted::Accepted),
            (StatusCode::ACCEPTED | StatusCode::NO_CONTENT, _) => {
                Err(unexpected("it takes what it is asked and does not answer"))
            }
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
    ) -> Result<BoxStream<'static, Result<Sse, SseError>>, Failed> {
        let is_listened_to = self.listening.is_it(last_event.as_deref());
        if is_listened_to {
            let pause = self.listening.pause();
            sleep(pause.ok_or(Failed::ServerDoesNotSupportSse)?).await;
        }
        let largest = crate::LARGEST_MESSAGE;
        let client = &self.client;
        let events = client
            .get_stream_with_max_sse_event_size(
                uri,
                session,
                last_event,
                authorization,
                headers,
                largest,
            )
            .await?;
        let events = resumed(events);
        Ok(if is_listened_to {
            self.listening.watched(events)
        } else {
            events
        })
    }
}
