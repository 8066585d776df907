//! A WebSocket: what it receives, what waits to be sent, its deadlines and its end.

use std::time::Duration;

use actix_web::{
    HttpRequest, HttpResponse,
    body::MessageBody as _,
    web::{Bytes, Payload},
};
use actix_ws::{AggregatedMessage, AggregatedMessageStream, CloseReason, ProtocolError};
use bytestring::ByteString;
use domain::ProblemCode;
use futures::StreamExt as _;
use kit::{auth::SUBPROTOCOL, problem::ApiError};
use server::ConnectionState;
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;

use super::{
    CloseCode, MAX_MESSAGE_BYTES, SendQueue, SendQueueFull, SocketTimeouts, close_code_for,
    deadlines::{Deadlines, DueAction, Timer},
    guard_payload, send_queue,
    socket_metrics::SocketMetrics,
};

/// The time for the client's answer to a close frame.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);

/// A WebSocket.
pub struct Connection {
    messages: AggregatedMessageStream,
    /// The frames that wait to be sent.
    pub send_queue: SendQueue,
    /// The deadlines of the client.
    pub(super) deadlines: Deadlines,
    timer: Timer,
    progress: ConnectionState,
    /// Cancelled when the server stops listening.
    closing: CancellationToken,
    metrics: SocketMetrics,
}

/// An event of a WebSocket.
pub enum Incoming {
    /// A text of the client.
    Text(ByteString),
    /// A ping of the client, which is to be answered with its payload.
    Ping(Bytes),
    /// A ping was sent to the client.
    PingSent,
    /// The send queue has the requested room.
    Room,
}

/// The end of a WebSocket.
pub enum End {
    /// The server closes the socket.
    Close(CloseCode),
    /// The client has closed the socket.
    Closed(Option<CloseReason>),
    /// The connection is lost.
    Disconnected,
}

impl From<SendQueueFull> for End {
    fn from(_: SendQueueFull) -> Self {
        Self::Close(CloseCode::SlowConsumer)
    }
}

impl End {
    /// The label of the metric.
    fn label(&self) -> String {
        match self {
            Self::Close(code) => code.number().to_string(),
            Self::Closed(_) => "client".to_owned(),
            Self::Disconnected => "gone".to_owned(),
        }
    }
}

impl Connection {
    /// Upgrades a request. `is_authenticated` is whether it carried a credential.
    pub async fn open(
        request: &HttpRequest,
        payload: Payload,
        (times, closing): (SocketTimeouts, CancellationToken),
        is_authenticated: bool,
    ) -> Result<(HttpResponse, Self), ApiError> {
        let failed = |error: actix_web::Error| {
            ApiError::new(ProblemCode::Internal).with_source(error.to_string())
        };
        let payload = guard_payload(request, payload).await.map_err(failed)?;
        let handled = actix_ws::handle_with_protocols(request, payload, &[SUBPROTOCOL]);
        let (response, _, messages) = handled.map_err(failed)?;
        let mut made = None;
        let response = response.map_body(|_, replaced| {
            let (send_queue, body) = send_queue(replaced);
            made = Some(send_queue);
            body.boxed()
        });
        let max_bytes = usize::try_from(MAX_MESSAGE_BYTES).unwrap_or(usize::MAX);
        let deadlines = Deadlines::new(times, is_authenticated, Instant::now());
        let connection = Self {
            messages: messages
                .aggregate_continuations()
                .max_continuation_size(max_bytes),
            send_queue: made.ok_or(ApiError::new(ProblemCode::Internal))?,
            timer: Timer::new(deadlines.next_deadline(None)),
            deadlines,
            progress: ConnectionState::of(request),
            closing,
            metrics: SocketMetrics::start(),
        };
        Ok((response, connection))
    }

    /// Waits for the next event; reads what the client sends only if `is_reading`. The future may be
    /// dropped and created again at any time.
    pub async fn next(&mut self, is_reading: bool) -> Result<Incoming, End> {
        loop {
            let deadline = self.deadlines.next_deadline(self.unread_since());
            self.timer.set(deadline);
            let incoming = tokio::select! {
                message = self.messages.next(), if is_reading => self.read(message)?,
                () = self.send_queue.changed() => {
                    if self.send_queue.is_disconnected() {
                        return Err(End::Disconnected);
                    }
                    Some(Incoming::Room)
                }
                () = self.timer.fired() => self.check_deadlines(is_reading)?,
                () = self.closing.cancelled() => return Err(End::Close(CloseCode::Draining)),
            };
            if let Some(incoming) = incoming {
                return Ok(incoming);
            }
        }
    }

    fn read(
        &mut self,
        message: Option<Result<AggregatedMessage, ProtocolError>>,
    ) -> Result<Option<Incoming>, End> {
        let message = message.ok_or(End::Disconnected)?;
        let message = message
            .map_err(|error| close_code_for(&error).map_or(End::Disconnected, End::Close))?;
        self.deadlines.received();
        match message {
            AggregatedMessage::Text(text) => Ok(Some(Incoming::Text(text))),
            AggregatedMessage::Binary(_) => Err(End::Close(CloseCode::BinaryFrame)),
            AggregatedMessage::Ping(payload) => Ok(Some(Incoming::Ping(payload))),
            AggregatedMessage::Pong(_) => Ok(None),
            AggregatedMessage::Close(reason) => Err(End::Closed(reason)),
        }
    }

    /// The time since which the client has read no byte although frames wait. The connection reads
    /// a large frame in many parts, so it knows more than the queue.
    fn unread_since(&self) -> Option<Instant> {
        let stalled_since = self.send_queue.stalled_since()?;
        Some(stalled_since.max(self.progress.last_write_at().unwrap_or(stalled_since)))
    }

    fn check_deadlines(&mut self, is_reading: bool) -> Result<Option<Incoming>, End> {
        let unread_since = self.unread_since();
        match self.deadlines.due(Instant::now(), unread_since, is_reading) {
            DueAction::Nothing => Ok(None),
            DueAction::Ping => {
                self.send_queue.ping();
                Ok(Some(Incoming::PingSent))
            }
            DueAction::Close(code) => Err(End::Close(code)),
        }
    }

    /// Sends the last frame and a close frame, and waits briefly for the answer. The client can read
    /// the frames soon or not at all.
    pub async fn close(&mut self, end: End, last: Option<ByteString>) {
        self.progress.begin_closing();
        self.metrics.set_reason(end.label());
        match end {
            End::Close(code) => {
                if code == CloseCode::SlowConsumer {
                    self.send_queue.clear();
                }
                if let Some(last) = last
                    && self.send_queue.push(last.clone()).is_err()
                {
                    self.send_queue.clear();
                    // An empty queue accepts every frame.
                    let _ = self.send_queue.push(last);
                }
                self.send_queue.close(Some(code.into()));
                if !self.wait_for_close_answer().await {
                    return;
                }
            }
            End::Closed(reason) => {
                // The client does not read the queued frames.
                self.send_queue.clear();
                self.send_queue.close(reason);
            }
            End::Disconnected => {}
        }
        self.progress.close_read();
    }

    /// Waits until the client answers the close frame, or the time for it is over. Returns false if
    /// the connection cannot be read any more: the rest of the input must then be discarded, or the
    /// close frame would be lost.
    async fn wait_for_close_answer(&mut self) -> bool {
        let answer = async {
            loop {
                match self.messages.next().await {
                    Some(Ok(AggregatedMessage::Close(_))) => return true,
                    Some(Ok(_)) => {}
                    Some(Err(_)) | None => return false,
                }
            }
        };
        timeout(CLOSE_TIMEOUT, answer).await.unwrap_or(true)
    }
}
