//! One connection of the double.

use std::{
    future::pending,
    iter,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use anyhow::{Result, bail};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{
        TcpStream,
        tcp::{OwnedReadHalf, OwnedWriteHalf},
    },
    time::sleep,
};

use super::{
    payload,
    request::Request,
    response_mode::{BYTE_PAUSE, FIRST_PAUSE, ResponseMode, WORD_PAUSE, WORDS},
    server::State,
};

/// The head of a streamed response.
const STREAM: &str = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\
                      Transfer-Encoding: chunked\r\n\r\n";

/// Increments a counter until it is dropped.
pub(super) struct CounterGuard(Arc<State>, fn(&State) -> &AtomicUsize);

impl CounterGuard {
    /// Increments `counter`.
    pub(super) fn new(state: &Arc<State>, counter: fn(&State) -> &AtomicUsize) -> Self {
        counter(state).fetch_add(1, Ordering::SeqCst);
        Self(Arc::clone(state), counter)
    }
}

impl Drop for CounterGuard {
    fn drop(&mut self) {
        (self.1)(&self.0).fetch_sub(1, Ordering::SeqCst);
    }
}

/// Serves a connection, one request at a time, until it ends.
pub(super) async fn serve(stream: TcpStream, state: Arc<State>) -> Result<()> {
    stream.set_nodelay(true)?;
    let _open = CounterGuard::new(&state, |state| &state.open);
    let (mut reader, mut writer) = stream.into_split();
    let mut received = Vec::with_capacity(16 * 1024);
    loop {
        let Some(request) = Request::parse(&received)? else {
            if reader.read_buf(&mut received).await? == 0 {
                return Ok(());
            }
            continue;
        };
        received.drain(..request.bytes);
        let _busy = CounterGuard::new(&state, |state| &state.busy);
        state.requests.fetch_add(1, Ordering::SeqCst);
        // A client that no longer waits closes the connection.
        tokio::select! {
            responded = respond(&request, &state, &mut writer) => responded?,
            closed = wait_for_end(&mut reader, &mut received) => return closed,
        }
    }
}

/// Waits until the client closes the connection. Bytes that arrive meanwhile are kept.
async fn wait_for_end(reader: &mut OwnedReadHalf, received: &mut Vec<u8>) -> Result<()> {
    while reader.read_buf(received).await? > 0 {}
    Ok(())
}

async fn respond(request: &Request, state: &State, writer: &mut OwnedWriteHalf) -> Result<()> {
    if !request.is_chat {
        return send(writer, &sized("200 OK", "", JSON, &payload::models())).await;
    }
    let mode = if state.is_repaired.load(Ordering::SeqCst) {
        ResponseMode::Instant
    } else {
        ResponseMode::of(&request.path).unwrap_or(ResponseMode::Instant)
    };
    match mode {
        ResponseMode::Calling if request.expects_call => send(writer, &state.call).await,
        ResponseMode::Instant | ResponseMode::Calling if request.is_streamed => {
            send(writer, &state.streamed).await
        }
        ResponseMode::Pieces if request.is_streamed => send(writer, &state.pieces).await,
        ResponseMode::Instant | ResponseMode::Pieces | ResponseMode::Calling => {
            send(writer, &state.full).await
        }
        ResponseMode::Paced => send_words(writer).await,
        ResponseMode::Hang => pending().await,
        ResponseMode::RateLimited => {
            let error = payload::error("rate_limit_exceeded");
            let head = "Retry-After: 2\r\n";
            send(writer, &sized("429 Too Many Requests", head, JSON, &error)).await
        }
        ResponseMode::ServerError => {
            let error = payload::error("server_error");
            send(
                writer,
                &sized("500 Internal Server Error", "", JSON, &error),
            )
            .await
        }
        ResponseMode::Malformed => {
            let body = "data: {\"choices\": [{\"delta\": {\"content\"\n\n";
            send(writer, &sized("200 OK", "", EVENTS, body)).await
        }
        ResponseMode::Truncated => {
            send(writer, STREAM).await?;
            send(writer, &chunk(&payload::delta("Order 4711 is "))).await?;
            bail!("closed within the body")
        }
        ResponseMode::ByteByByte => send_bytes(writer).await,
        ResponseMode::Endless => {
            send(writer, STREAM).await?;
            let words = chunk(&payload::delta(&"on and ".repeat(600)));
            loop {
                send(writer, &words).await?;
            }
        }
    }
}

pub(super) const JSON: &str = "application/json";
pub(super) const EVENTS: &str = "text/event-stream";

/// Returns a response with a `Content-Length`.
pub(super) fn sized(status: &str, headers: &str, kind: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n{headers}\r\n{body}"
    )
}

/// Returns a response with a chunk for each event, as model servers send them.
pub(super) fn chunked(events: impl Iterator<Item = String>) -> String {
    let chunks = events.map(|event| chunk(&event));
    let parts = iter::once(STREAM.to_owned()).chain(chunks);
    parts.chain(["0\r\n\r\n".to_owned()]).collect()
}

fn chunk(text: &str) -> String {
    format!("{:x}\r\n{text}\r\n", text.len())
}

/// Sends one word after the other, with its send time.
async fn send_words(writer: &mut OwnedWriteHalf) -> Result<()> {
    send(writer, STREAM).await?;
    sleep(FIRST_PAUSE).await;
    for _ in 0..WORDS {
        send(writer, &chunk(&payload::timed_word())).await?;
        sleep(WORD_PAUSE).await;
    }
    send(writer, &format!("{}0\r\n\r\n", chunk(&payload::end()))).await
}

async fn send_bytes(writer: &mut OwnedWriteHalf) -> Result<()> {
    send(writer, STREAM).await?;
    for byte in chunk(&payload::streamed()).bytes() {
        writer.write_all(&[byte]).await?;
        sleep(BYTE_PAUSE).await;
    }
    Ok(())
}

async fn send(writer: &mut OwnedWriteHalf, text: &str) -> Result<()> {
    Ok(writer.write_all(text.as_bytes()).await?)
}
