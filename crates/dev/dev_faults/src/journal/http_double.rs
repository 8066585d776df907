//! A small HTTP server for doubles of other services: JSON in, JSON out.

use std::{collections::BTreeMap, net::SocketAddr, sync::Arc};

use anyhow::{Context as _, Result};
use serde_json::Value;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream, tcp::OwnedReadHalf},
    task::JoinSet,
};

/// A request with a JSON body; null without one.
pub(super) struct Request {
    pub(super) method: String,
    pub(super) path: String,
    /// By names in lower case.
    pub(super) headers: BTreeMap<String, String>,
    pub(super) body: Value,
}

/// A response.
pub(super) struct Response {
    pub(super) status: &'static str,
    /// Null sends no body.
    pub(super) body: Value,
}

/// A handler of requests. It is dropped while it answers if the client closes its connection.
pub(super) trait Handler: Send + Sync + 'static {
    fn respond(&self, request: Request) -> impl Future<Output = Response> + Send;
}

/// A running server. Dropping it closes all connections.
pub(super) struct HttpDouble {
    pub(super) address: SocketAddr,
    _task: JoinSet<()>,
}

impl HttpDouble {
    /// Starts on a free port.
    pub(super) async fn start(handler: Arc<impl Handler>) -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await;
        let listener = listener.context("no free port for a double")?;
        let address = listener.local_addr().context("a double has no address")?;
        let mut task = JoinSet::new();
        task.spawn(async move {
            let mut connections = JoinSet::new();
            loop {
                // An error concerns one connection.
                if let Ok((stream, _)) = listener.accept().await {
                    connections.spawn(serve(stream, Arc::clone(&handler)));
                    while connections.try_join_next().is_some() {}
                }
            }
        });
        Ok(Self {
            address,
            _task: task,
        })
    }
}

/// Serves a connection, one request at a time, until it ends.
async fn serve(stream: TcpStream, handler: Arc<impl Handler>) -> Result<()> {
    stream.set_nodelay(true)?;
    let (mut reader, mut writer) = stream.into_split();
    let mut received = Vec::new();
    loop {
        let Some((request, bytes)) = parse(&received)? else {
            if reader.read_buf(&mut received).await? == 0 {
                return Ok(());
            }
            continue;
        };
        received.drain(..bytes);
        tokio::select! {
            response = handler.respond(request) => writer.write_all(&rendered(&response)).await?,
            closed = wait_for_end(&mut reader, &mut received) => return closed,
        }
    }
}

/// Waits until the client closes the connection. Bytes that arrive meanwhile are kept.
async fn wait_for_end(reader: &mut OwnedReadHalf, received: &mut Vec<u8>) -> Result<()> {
    while reader.read_buf(received).await? > 0 {}
    Ok(())
}

/// Parses a request, and returns its length; `None` while its end has not arrived.
fn parse(received: &[u8]) -> Result<Option<(Request, usize)>> {
    let Some(end) = received.windows(4).position(|bytes| bytes == b"\r\n\r\n") else {
        return Ok(None);
    };
    let head = std::str::from_utf8(&received[..end]).context("a request head is not text")?;
    let mut lines = head.split("\r\n");
    let mut first = lines.next().unwrap_or_default().split(' ');
    let (method, path) = (first.next(), first.next().context("no path")?);
    let headers: BTreeMap<_, _> = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
        .collect();
    let length = headers.get("content-length").map(|length| length.parse());
    let length: usize = length.transpose().context("no length")?.unwrap_or(0);
    let bytes = end + 4 + length;
    let Some(body) = received.get(end + 4..bytes) else {
        return Ok(None);
    };
    let request = Request {
        method: method.unwrap_or_default().to_owned(),
        path: path.to_owned(),
        headers,
        body: serde_json::from_slice(body).unwrap_or_default(),
    };
    Ok(Some((request, bytes)))
}

fn rendered(response: &Response) -> Vec<u8> {
    let Response { status, body } = response;
    let body = match body {
        Value::Null => String::new(),
        body => body.to_string(),
    };
    let length = body.len();
    let head = format!("HTTP/1.1 {status}\r\nContent-Type: application/json\r\n");
    format!("{head}Content-Length: {length}\r\n\r\n{body}").into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_complete_with_its_body() {
        let text = "POST /a HTTP/1.1\r\nContent-Length: 2\r\nX-Y: z\r\n\r\n{}POST";
        assert!(parse(&text.as_bytes()[..48]).unwrap().is_none());
        let (request, bytes) = parse(text.as_bytes()).unwrap().unwrap();
        assert_eq!((&*request.method, &*request.path), ("POST", "/a"));
        assert_eq!(request.headers["x-y"], "z");
        assert_eq!(&text[bytes..], "POST");
    }
}
