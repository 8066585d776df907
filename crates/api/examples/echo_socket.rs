//! The reading, writing and closing of `/api/ws`, with an echo in place of its commands.
//!
//! Test suites for the WebSocket protocol (RFC 6455) expect their messages back. This server
//! returns them over the same connection, frame guard, codec and send queue as the service, so
//! results of such a suite also hold for the service. It takes no arguments, and prints its URL.

#![expect(clippy::print_stdout, reason = "the caller reads the address there")]

use std::{net::TcpListener, time::Duration};

use actix_web::{
    App, Error, HttpRequest, HttpResponse,
    body::MessageBody as _,
    error::ErrorInternalServerError,
    web::{self, Payload},
};
use actix_ws::{AggregatedMessage, AggregatedMessageStream};
use anyhow::Result;
use bytestring::ByteString;
use futures::StreamExt as _;
use server::{ConnectionState, Versions};
use socket::{CloseCode, MAX_MESSAGE_BYTES, SendQueue, close_code_for, guard_payload, send_queue};
use tokio_util::sync::CancellationToken;

/// The time for the client's answer to a close frame.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);

#[tokio::main]
async fn main() -> Result<()> {
    let listener = TcpListener::bind(("127.0.0.1", 0))?;
    println!("ws://{}/", listener.local_addr()?);
    let app = || App::new().route("/", web::get().to(open));
    let closing = CancellationToken::new();
    server::serve(listener, 1, Duration::ZERO, &closing, Versions::Http1, app)?.await?;
    Ok(())
}

async fn open(request: HttpRequest, payload: Payload) -> Result<HttpResponse, Error> {
    let progress = ConnectionState::of(&request);
    progress.begin_request(false);
    let payload = guard_payload(&request, payload).await?;
    let (response, _, messages) = actix_ws::handle(&request, payload)?;
    let mut made = None;
    let response = response.map_body(|_, replaced| {
        let (send_queue, body) = send_queue(replaced);
        made = Some(send_queue);
        body.boxed()
    });
    let send_queue = made.ok_or_else(|| ErrorInternalServerError("no body"))?;
    let max = usize::try_from(MAX_MESSAGE_BYTES).unwrap_or(usize::MAX);
    let messages = messages
        .aggregate_continuations()
        .max_continuation_size(max);
    progress.switch_protocol();
    actix_web::rt::spawn(serve(messages, send_queue, progress));
    Ok(response)
}

async fn serve(
    mut messages: AggregatedMessageStream,
    send_queue: SendQueue,
    progress: ConnectionState,
) {
    let code = loop {
        let message = match messages.next().await {
            None => return,
            Some(Err(fault)) => match close_code_for(&fault) {
                Some(code) => break code,
                None => return,
            },
            Some(Ok(message)) => message,
        };
        let pushed = match message {
            AggregatedMessage::Text(text) => send_queue.push(text),
            // Returned as text, because the queue only holds text frames.
            AggregatedMessage::Binary(bytes) => match ByteString::try_from(bytes) {
                Ok(text) => send_queue.push(text),
                Err(_) => break CloseCode::BinaryFrame,
            },
            AggregatedMessage::Ping(payload) => {
                send_queue.pong(payload);
                Ok(())
            }
            AggregatedMessage::Pong(_) => Ok(()),
            AggregatedMessage::Close(reason) => {
                progress.begin_closing();
                send_queue.close(reason);
                progress.close_read();
                return;
            }
        };
        if pushed.is_err() {
            break CloseCode::SlowConsumer;
        }
    };
    progress.begin_closing();
    send_queue.close(Some(code.into()));
    let answer = async {
        while let Some(Ok(message)) = messages.next().await {
            if matches!(message, AggregatedMessage::Close(_)) {
                break;
            }
        }
    };
    let _ = tokio::time::timeout(CLOSE_TIMEOUT, answer).await;
    progress.close_read();
}
