//! One connection of an upstream.

use std::{
    future::pending,
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
    manner::{BETWEEN, DRIP, FIRST, Manner, WORDS},
    request::Request,
    serving::State,
    words,
};

/// The head of an answer that comes word by word.
const STREAM: &str = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\
                      Transfer-Encoding: chunked\r\n\r\n";

/// Counts while it is there.
pub(super) struct Counted(Arc<State>, fn(&State) -> &AtomicUsize);

impl Counted {
    /// Counts one more.
    pub(super) fn new(state: &Arc<State>, counter: fn(&State) -> &AtomicUsize) -> Self {
        counter(state).fetch_add(1, Ordering::SeqCst);
        Self(Arc::clone(state), counter)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        (self.1)(&self.0).fetch_sub(1, Ordering::SeqCst);
    }
}

/// Answers what is asked on a connection, one request after the other, until it ends.
pub(super) async fn serve(stream: TcpStream, state: Arc<State>) -> Result<()> {
    stream.set_nodelay(true)?;
    let _open = Counted::new(&state, |state| &state.open);
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
        let _busy = Counted::new(&state, |state| &state.busy);
        state.asked.fetch_add(1, Ordering::SeqCst);
        // Whoever does not wait for the answer any more has closed the connection.
        tokio::select! {
            answered = answer(&request, &state, &mut writer) => answered?,
            gone = end(&mut reader, &mut received) => return gone,
        }
    }
}

/// Waits until the connection ends. What else comes is kept.
async fn end(reader: &mut OwnedReadHalf, received: &mut Vec<u8>) -> Result<()> {
    while reader.read_buf(received).await? > 0 {}
    Ok(())
}

async fn answer(request: &Request, state: &State, writer: &mut OwnedWriteHalf) -> Result<()> {
    if !request.is_chat {
        return send(writer, &sized("200 OK", "", JSON, &words::models())).await;
    }
    let manner = Manner::of(&request.path).unwrap_or(Manner::Instant);
    let manner = if state.is_mended.load(Ordering::SeqCst) {
        Manner::Instant
    } else {
        manner
    };
    match manner {
        Manner::Instant if request.is_streamed => send(writer, &state.streamed).await,
        Manner::Instant => send(writer, &state.whole).await,
        Manner::Paced => speak(writer).await,
        Manner::Hangs => pending().await,
        Manner::RateLimited => {
            let error = words::error("rate_limit_exceeded");
            let head = "Retry-After: 2\r\n";
            send(writer, &sized("429 Too Many Requests", head, JSON, &error)).await
        }
        Manner::Fails => {
            let error = words::error("server_error");
            send(
                writer,
                &sized("500 Internal Server Error", "", JSON, &error),
            )
            .await
        }
        Manner::Malformed => {
            let body = "data: {\"choices\": [{\"delta\": {\"content\"\n\n";
            send(writer, &sized("200 OK", "", EVENTS, body)).await
        }
        Manner::Cut => {
            send(writer, STREAM).await?;
            send(writer, &chunk(&words::delta("Order 4711 is "))).await?;
            bail!("cut")
        }
        Manner::Drips => drip(writer).await,
        Manner::Endless => {
            send(writer, STREAM).await?;
            let words = chunk(&words::delta(&"on and ".repeat(600)));
            loop {
                send(writer, &words).await?;
            }
        }
    }
}

pub(super) const JSON: &str = "application/json";
pub(super) const EVENTS: &str = "text/event-stream";

/// An answer whose length is told.
pub(super) fn sized(status: &str, headers: &str, kind: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n{headers}\r\n{body}"
    )
}

fn chunk(text: &str) -> String {
    format!("{:x}\r\n{text}\r\n", text.len())
}

/// Says one word after the other, with the time at which it is said.
async fn speak(writer: &mut OwnedWriteHalf) -> Result<()> {
    send(writer, STREAM).await?;
    sleep(FIRST).await;
    for _ in 0..WORDS {
        send(writer, &chunk(&words::marked())).await?;
        sleep(BETWEEN).await;
    }
    send(writer, &format!("{}0\r\n\r\n", chunk(&words::end()))).await
}

async fn drip(writer: &mut OwnedWriteHalf) -> Result<()> {
    send(writer, STREAM).await?;
    for byte in chunk(&words::streamed()).bytes() {
        writer.write_all(&[byte]).await?;
        sleep(DRIP).await;
    }
    Ok(())
}

async fn send(writer: &mut OwnedWriteHalf, text: &str) -> Result<()> {
    Ok(writer.write_all(text.as_bytes()).await?)
}
