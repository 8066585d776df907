//! Requests on a socket of a far region. The home region answers them over HTTP, and the events of its
//! response become the frames of the socket.

use bytes::{Bytes, BytesMut};
use domain::ProblemCode;
use futures::{StreamExt as _, TryStreamExt as _};
use kit::problem::ApiError;
use ports::{HomeError, HomeResponse};
use regions::{FarNode, HomeCommand};
use serde_json::Value;

use super::{
    frames::ServerFrame,
    path::Chat,
    request::ChatBody,
    socket_request::{Failure, SocketRequest},
};

/// The field of an event that has its data.
const DATA: &[u8] = b"data: ";
/// The data of the event that ends a stream.
const DONE: &[u8] = b"[DONE]";

impl SocketRequest {
    /// Sends a message at home, and relays the stream of its turn.
    pub(super) async fn send_home(
        &mut self,
        far: &FarNode,
        chat: &Chat,
        mut body: ChatBody,
    ) -> Result<(), Failure> {
        body.keep_newest();
        let body = serde_json::to_vec(&body);
        let body = body.map_err(|error| ApiError::new(ProblemCode::Internal).with_source(error))?;
        let path = format!("/ai-sdk/agents/{}/chat", chat.agent_id);
        let command = self.command(chat, "POST", path, body.into());
        self.relay(far, chat, command).await
    }

    /// Relays the stream of the open or newest turn of a chat.
    pub(super) async fn resume_home(&mut self, far: &FarNode, chat: &Chat) -> Result<(), Failure> {
        let command = self.command(chat, "GET", chat_path(chat, "stream"), Bytes::new());
        self.relay(far, chat, command).await
    }

    /// Cancels the open turns of a chat.
    async fn stop_home(&self, far: &FarNode, chat: &Chat) -> Result<(), Failure> {
        let command = self.command(chat, "POST", chat_path(chat, "stop"), Bytes::new());
        far.send(&self.context.auth_context, command).await?;
        Ok(())
    }

    fn command(&self, chat: &Chat, method: &'static str, path: String, body: Bytes) -> HomeCommand {
        let mut headers = vec![("accept", "text/event-stream".to_owned())];
        if !body.is_empty() {
            headers.push(("content-type", "application/json".to_owned()));
        }
        let request_id = Some(self.request_id()).filter(|id| !id.is_empty());
        headers.extend(request_id.map(|id| ("x-request-id", id)));
        headers.extend(chat.user_id.clone().map(|user| ("x-user-id", user)));
        HomeCommand {
            method,
            path,
            headers,
            body,
            is_repeatable: method == "GET",
        }
    }

    /// Sends a request to the home region, and the parts of its response to the client.
    async fn relay(
        &mut self,
        far: &FarNode,
        chat: &Chat,
        command: HomeCommand,
    ) -> Result<(), Failure> {
        let caller = self.context.auth_context.clone();
        let mut response = far.send(&caller, command).await?;
        let request_id = &self.id.clone();
        match response.status {
            200 => {}
            204 => {
                let none: ServerFrame<'_> = ServerFrame::NoActive { request_id };
                return Ok(self.push(&none).await?);
            }
            _ => return Err(rejection(response).await),
        }
        let start: ServerFrame<'_> = ServerFrame::Start { request_id };
        self.push(&start).await?;
        let (mut unread, mut sequence) = (BytesMut::new(), 0);
        loop {
            let chunk = tokio::select! {
                chunk = response.body.next() => chunk,
                () = self.stopped.cancelled() => return self.stop_home(far, chat).await,
            };
            let lost = || ApiError::new(ProblemCode::StoreUnavailable);
            let chunk = chunk.ok_or_else(lost)?;
            unread.extend_from_slice(&chunk.map_err(|error| lost().with_source(error))?);
            while let Some(end) = unread.iter().position(|byte| *byte == b'\n') {
                let line = unread.split_to(end + 1);
                let Some(data) = line.strip_prefix(DATA) else {
                    continue;
                };
                if data.trim_ascii_end() == DONE {
                    let end: ServerFrame<'_> = ServerFrame::End { request_id };
                    return Ok(self.push(&end).await?);
                }
                let chunk: Value =
                    serde_json::from_slice(data).map_err(|error| lost().with_source(error))?;
                let frame = ServerFrame::Chunk {
                    request_id,
                    sequence,
                    chunk: &chunk,
                };
                self.push(&frame).await?;
                sequence += 1;
            }
        }
    }
}

/// Returns the text with which the home region rejects a request.
async fn rejection(response: HomeResponse) -> Failure {
    let body = response.body.try_collect::<BytesMut>().await;
    match body.map(|body| String::from_utf8(body.to_vec())) {
        Ok(Ok(text)) if !text.is_empty() => Failure::RejectedAtHome(text),
        Ok(_) => ApiError::new(ProblemCode::StoreUnavailable).into(),
        Err(error @ (HomeError::Lost(_) | HomeError::Unreachable(_))) => {
            ApiError::new(ProblemCode::StoreUnavailable)
                .with_source(error)
                .into()
        }
    }
}

/// Returns the path of an operation on a chat, whose key needs no escapes.
fn chat_path(chat: &Chat, operation: &str) -> String {
    let (agent, key) = (chat.agent_id, chat.key.as_str());
    format!("/ai-sdk/agents/{agent}/chat/{key}/{operation}")
}
