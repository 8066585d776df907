//! A limit on the requests that a server sends. The SDK answers each of them in its own task,
//! without a limit: a flood of requests would exhaust the memory. Results of tools that the SDK cannot
//! read are repaired on the way.

use std::time::Duration;

use rmcp::{
    RoleClient,
    model::{JsonRpcMessage, ServerResult},
    service::{RxJsonRpcMessage, TxJsonRpcMessage},
    transport::Transport,
};

use crate::{tool_result::read_leniently, window::WindowCount};

/// The maximum number of requests of a server within [`WINDOW`]. The client announces none of the
/// capabilities that servers could use (sampling, elicitation, roots), so servers send hardly
/// anything but `ping`.
const MAX_REQUESTS: u32 = 100;
const WINDOW: Duration = Duration::from_secs(10);

/// The maximum length of the id of a request in bytes. The response, which may have to wait,
/// repeats it.
const MAX_ID_BYTES: usize = 256;

/// A transport that ends when its server sends too many requests.
pub(crate) struct RequestGuard<T> {
    /// Dropped at once when the server sends too many: an orderly close would first have to read
    /// all messages in transit.
    transport: Option<T>,
    server: String,
    requests: WindowCount,
}

impl<T> RequestGuard<T> {
    pub(crate) fn new(transport: T, server: String) -> Self {
        Self {
            transport: Some(transport),
            server,
            requests: WindowCount::new(WINDOW),
        }
    }

    fn is_admitted(&mut self, message: &RxJsonRpcMessage<RoleClient>) -> bool {
        let JsonRpcMessage::Request(request) = message else {
            return true;
        };
        self.requests.add() <= MAX_REQUESTS && request.id.to_string().len() <= MAX_ID_BYTES
    }
}

fn repaired(mut message: RxJsonRpcMessage<RoleClient>) -> RxJsonRpcMessage<RoleClient> {
    if let JsonRpcMessage::Response(response) = &mut message
        && let ServerResult::CustomResult(unread) = &response.result
        && let Some(result) = read_leniently(&unread.0)
    {
        response.result = ServerResult::CallToolResult(result);
    }
    message
}

/// The reason that a message was not sent.
#[derive(Debug, thiserror::Error)]
pub(crate) enum GuardError<E> {
    /// The transport failed.
    #[error("the transport failed")]
    Transport(#[source] E),
    /// The connection was closed because the server sent too many requests.
    #[error("the server sent too many requests")]
    TooManyRequests,
}

impl<T: Transport<RoleClient>> Transport<RoleClient> for RequestGuard<T> {
    type Error = GuardError<T::Error>;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let sending = self.transport.as_mut().map(|open| open.send(message));
        async move {
            let sending = sending.ok_or(GuardError::TooManyRequests)?;
            sending.await.map_err(GuardError::Transport)
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        let message = self.transport.as_mut()?.receive().await?;
        if self.is_admitted(&message) {
            return Some(repaired(message));
        }
        let server = &self.server;
        tracing::warn!(
            server,
            "MCP server sends too many requests; closing its connection"
        );
        self.transport = None;
        None
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        match &mut self.transport {
            Some(open) => open.close().await.map_err(GuardError::Transport),
            None => Ok(()),
        }
    }
}
