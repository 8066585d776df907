//! Requests on a socket of a far region. The home region answers them over HTTP, and the events of its
//! response become the frames of the socket.

use bytes::{Bytes, BytesMut};
use domain::ProblemCode;
use futures::{StreamExt as _, TryStreamExt as _};
use http::{
    Request, Response, StatusCode,
    header::{ACCEPT, CONTENT_LENGTH, CONTENT_TYPE},
    request::Builder,
};
use http_clients::EventDecoder;
use kit::{auth::X_USER_ID, layers::X_REQUEST_ID, problem::ApiError, sse::EVENT_STREAM};
use ports::HomeBody;
use regions::FarNode;
use serde_json::Value;

use super::{
    path::Chat,
    request::ChatBody,
    socket_request::{Failure, SocketRequest},
};

/// The data of the event that ends a stream.
const DONE: &[u8] = b"[DONE]";

impl SocketRequest {
    /// Sends a message at home, and relays the stream of its turn.
    pub(super) async fn send_home(
        &self,
        far: &FarNode,
        chat: &Chat,
        mut body: ChatBody,
    ) -> Result<(), Failure> {
        body.keep_newest();
        let body = serde_json::to_vec(&body);
        let body = body.map_err(|error| ApiError::new(ProblemCode::Internal).with_source(error))?;
        let path = format!("/ai-sdk/agents/{}/chat", chat.agent_id);
        let request = self.request(chat, Request::post(path), body.into());
        self.relay(far, chat, request).await
    }

    /// Relays the stream of the open or newest turn of a chat.
    pub(super) async fn resume_home(&self, far: &FarNode, chat: &Chat) -> Result<(), Failure> {
        let request = Request::get(chat_path(chat, "stream"));
        let request = request.header(CONTENT_LENGTH, 0);
        let request = self.request(chat, request, Bytes::new());
        self.relay(far, chat, request).await
    }

    /// Cancels the open turns of a chat.
    async fn stop_home(&self, far: &FarNode, chat: &Chat) -> Result<(), Failure> {
        let request = Request::post(chat_path(chat, "stop"));
        let request = self.request(chat, request, Bytes::new());
        far.send(&self.context.auth_context, request).await?;
        Ok(())
    }

    /// Adds the headers and the body of a request to the home region.
    fn request(
        &self,
        chat: &Chat,
        mut request: Builder,
        body: Bytes,
    ) -> http::Result<Request<Bytes>> {
        request = request.header(ACCEPT, EVENT_STREAM);
        if !body.is_empty() {
            request = request.header(CONTENT_TYPE, "application/json");
        }
        let request_id = self.request_id();
        if !request_id.is_empty() {
            request = request.header(X_REQUEST_ID, request_id);
        }
        if let Some(user) = &chat.user_id {
            request = request.header(X_USER_ID.as_str(), user);
        }
        request.body(body)
    }

    /// Sends a request to the home region, and the parts of its response to the client.
    async fn relay(
        &self,
        far: &FarNode,
        chat: &Chat,
        request: http::Result<Request<Bytes>>,
    ) -> Result<(), Failure> {
        let caller = self.context.auth_context.clone();
        let response = far.send(&caller, request).await?;
        match response.status() {
            StatusCode::OK => {}
            StatusCode::NO_CONTENT => {
                self.send_no_active().await;
                return Ok(());
            }
            _ => return Err(rejection(response).await),
        }
        let mut body = response.into_body();
        let mut chunks = self.send_start().await;
        // The home region limits its events itself.
        let mut decoder = EventDecoder::new(usize::MAX);
        loop {
            let bytes = tokio::select! {
                bytes = body.next() => bytes,
                () = self.stopped.cancelled() => return self.stop_home(far, chat).await,
            };
            let lost = || ApiError::new(ProblemCode::StoreUnavailable);
            let bytes = bytes.ok_or_else(lost)?;
            let bytes = bytes.map_err(|error| lost().with_source(error))?;
            let mut unread = &*bytes;
            while let Some(data) = decoder
                .decode(&mut unread)
                .map_err(|error| lost().with_source(error))?
            {
                if data == DONE {
                    self.send_end().await;
                    return Ok(());
                }
                let chunk: Value =
                    serde_json::from_slice(data).map_err(|error| lost().with_source(error))?;
                self.push_frame(chunks.next(&chunk)).await;
            }
        }
    }
}

/// Returns the text with which the home region rejects a request.
async fn rejection(response: Response<HomeBody>) -> Failure {
    let body = response.into_body().try_collect::<BytesMut>().await;
    let unavailable = ApiError::new(ProblemCode::StoreUnavailable);
    match body.map(|body| String::from_utf8(body.to_vec())) {
        Ok(Ok(text)) if !text.is_empty() => Failure::RejectedAtHome(text),
        Ok(_) => unavailable.into(),
        Err(error) => unavailable.with_source(error).into(),
    }
}

/// Returns the path of an operation on a chat, whose key needs no escapes.
fn chat_path(chat: &Chat, operation: &str) -> String {
    let (agent, key) = (chat.agent_id, chat.key.as_str());
    format!("/ai-sdk/agents/{agent}/chat/{key}/{operation}")
}
