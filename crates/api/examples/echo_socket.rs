//! The reading, the writing and the closing of `/api/ws` with an echo in the place of its commands.
//!
//! Suites that hold a server to the WebSocket protocol (RFC 6455) want their messages back. This
//! gives them back, over the very same connection, frame guard, codec and queue, so that what such
//! a suite finds here is so there. It takes no arguments, and prints where it listens.

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
use api::{
    connection::Progress,
    listener,
    socket::{CloseCode, MESSAGE_BYTES, Outgoing, close_code_of, guarded, outgoing},
};
use bytestring::ByteString;
use futures::StreamExt as _;

/// How long a client may take to answer a close.
const PATIENCE: Duration = Duration::from_secs(1);

#[tokio::main]
async fn main() -> Result<()> {
    let listener = TcpListener::bind(("127.0.0.1", 0))?;
    println!("ws://{}/", listener.local_addr()?);
    let app = || App::new().route("/", web::get().to(open));
    listener::serve(listener, 1, Duration::ZERO, app)?.await?;
    Ok(())
}

async fn open(request: HttpRequest, payload: Payload) -> Result<HttpResponse, Error> {
    let progress = Progress::of(&request);
    progress.begin(false);
    let payload = guarded(&request, payload).await?;
    let (response, _, messages) = actix_ws::handle(&request, payload)?;
    let mut made = None;
    let response = response.map_body(|_, replaced| {
        let (outgoing, body) = outgoing(replaced);
        made = Some(outgoing);
        body.boxed()
    });
    let outgoing = made.ok_or_else(|| ErrorInternalServerError("no body"))?;
    let most = usize::try_from(MESSAGE_BYTES).unwrap_or(usize::MAX);
    let messages = messages
        .aggregate_continuations()
        .max_continuation_size(most);
    progress.hand_over();
    actix_web::rt::spawn(serve(messages, outgoing, progress));
    Ok(response)
}

async fn serve(mut messages: AggregatedMessageStream, outgoing: Outgoing, progress: Progress) {
    let code = loop {
        let message = match messages.next().await {
            None => return,
            Some(Err(fault)) => match close_code_of(&fault) {
                Some(code) => break code,
                None => return,
            },
            Some(Ok(message)) => message,
        };
        let pushed = match message {
            AggregatedMessage::Text(text) => outgoing.push(text),
            // It comes back as text: the queue has nothing else.
            AggregatedMessage::Binary(bytes) => match ByteString::try_from(bytes) {
                Ok(text) => outgoing.push(text),
                Err(_) => break CloseCode::BinaryFrame,
            },
            AggregatedMessage::Ping(payload) => {
                outgoing.pong(payload);
                Ok(())
            }
            AggregatedMessage::Pong(_) => Ok(()),
            AggregatedMessage::Close(reason) => {
                progress.part();
                outgoing.close(reason);
                progress.hang_up();
                return;
            }
        };
        if pushed.is_err() {
            break CloseCode::SlowConsumer;
        }
    };
    progress.part();
    outgoing.close(Some(code.into()));
    let answer = async {
        while let Some(Ok(message)) = messages.next().await {
            if matches!(message, AggregatedMessage::Close(_)) {
                break;
            }
        }
    };
    let _ = tokio::time::timeout(PATIENCE, answer).await;
    progress.hang_up();
}
