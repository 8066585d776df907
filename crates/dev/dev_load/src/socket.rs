//! A WebSocket client of `GET /api/ws`, on tokio-tungstenite.

use std::{net::SocketAddr, time::Duration};

use anyhow::{Context as _, Result, bail};
use futures::{SinkExt as _, StreamExt as _};
use serde_json::Value;
use tokio::{
    io::AsyncWriteExt as _,
    net::{TcpSocket, TcpStream},
    time::timeout,
};
use tokio_tungstenite::{
    WebSocketStream, client_async_with_config,
    tungstenite::{
        Error, Message,
        client::IntoClientRequest as _,
        error::ProtocolError,
        handshake::client::Request,
        protocol::{CloseFrame, WebSocketConfig, frame::coding::CloseCode},
    },
};

use crate::Endpoint;

/// The longest that the response to an upgrade or a command may take.
const TIMEOUT: Duration = Duration::from_secs(30);

/// Bytes of the read buffer: a benchmark opens ten thousand sockets.
const READ_BUFFER: usize = 4 * 1024;

/// Bytes of the system's receive buffer of a client that is not to read ahead.
const SMALL_RECEIVE_BUFFER: u32 = 4 * 1024;

/// The status code of a close frame without one (RFC 6455, 7.4.1).
const NO_STATUS: u16 = 1005;

/// A WebSocket. Dropping it ends the connection without a close frame.
pub struct Socket(WebSocketStream<TcpStream>);

/// A frame of the server.
#[derive(Debug, PartialEq)]
pub enum Frame {
    /// A text frame: one JSON object.
    Text(String),
    /// A close frame with its status code.
    Close(u16),
    /// The end of the connection without a close frame.
    End,
}

impl Socket {
    /// Connects, with the endpoint's credential in the upgrade.
    pub async fn open(endpoint: &Endpoint) -> Result<Self> {
        let stream = TcpStream::connect(endpoint.address).await;
        Self::upgrade(stream.context("cannot connect")?, endpoint).await
    }

    /// Connects with a ticket instead of a credential.
    pub async fn open_with_ticket(address: SocketAddr, ticket: &str) -> Result<Self> {
        let stream = TcpStream::connect(address)
            .await
            .context("cannot connect")?;
        let url = format!("ws://{address}/api/ws?ticket={ticket}");
        let request = url.into_client_request().context("no upgrade request")?;
        Self::upgrade_with(stream, request).await
    }

    /// Connects with a small receive buffer, so that unread data stays with the server.
    pub async fn open_with_small_buffer(endpoint: &Endpoint) -> Result<Self> {
        let stream = connect_with_small_buffer(endpoint.address).await?;
        Self::upgrade(stream, endpoint).await
    }

    async fn upgrade(stream: TcpStream, endpoint: &Endpoint) -> Result<Self> {
        let url = format!("ws://{}/api/ws", endpoint.address);
        let mut request = url.into_client_request().context("no upgrade request")?;
        let (name, value) = endpoint.credential.header();
        request.headers_mut().insert(name, value.parse()?);
        Self::upgrade_with(stream, request).await
    }

    async fn upgrade_with(stream: TcpStream, mut request: Request) -> Result<Self> {
        stream.set_nodelay(true).context("cannot set TCP_NODELAY")?;
        let headers = request.headers_mut();
        headers.insert("Sec-WebSocket-Protocol", SUBPROTOCOL.parse()?);
        let config = WebSocketConfig::default().read_buffer_size(READ_BUFFER);
        let upgraded = client_async_with_config(request, stream, Some(config));
        match timeout(TIMEOUT, upgraded)
            .await
            .context("no response to an upgrade")?
        {
            Ok((socket, _)) => Ok(Self(socket)),
            Err(Error::Http(response)) => {
                let body = response.body().as_deref().unwrap_or_default();
                let body = String::from_utf8_lossy(body);
                bail!("the upgrade returned {}: {body}", response.status())
            }
            Err(error) => Err(error).context("the upgrade failed"),
        }
    }

    /// Sends one JSON object.
    pub async fn send(&mut self, value: &Value) -> Result<()> {
        let message = Message::text(value.to_string());
        self.0.send(message).await.context("cannot send a frame")
    }

    /// Sends a close frame and leaves the connection open.
    pub async fn close(&mut self) -> Result<()> {
        let frame = CloseFrame {
            code: CloseCode::Normal,
            reason: "".into(),
        };
        let sent = self.0.send(Message::Close(Some(frame))).await;
        sent.context("cannot send a close frame")
    }

    /// Sends bytes that need not be a frame.
    pub async fn send_raw(&mut self, bytes: &[u8]) -> Result<()> {
        let sent = self.0.get_mut().write_all(bytes).await;
        sent.context("cannot send bytes")
    }

    /// Returns the next text or close frame; pings are answered meanwhile. Cancel-safe.
    pub async fn next(&mut self) -> Result<Frame> {
        loop {
            return Ok(match self.0.next().await {
                Some(Ok(Message::Text(text))) => Frame::Text(text.as_str().to_owned()),
                Some(Ok(Message::Close(frame))) => {
                    Frame::Close(frame.map_or(NO_STATUS, |frame| frame.code.into()))
                }
                Some(Ok(_)) => continue,
                None
                | Some(Err(
                    Error::ConnectionClosed
                    | Error::Io(_)
                    | Error::Protocol(ProtocolError::ResetWithoutClosingHandshake),
                )) => Frame::End,
                Some(Err(error)) => return Err(error).context("an invalid frame"),
            });
        }
    }

    /// Sends a command and returns its result; other frames that arrive meanwhile are dropped.
    pub async fn command(&mut self, command: &Value) -> Result<Value> {
        self.send(command).await?;
        let reply = timeout(TIMEOUT, async {
            loop {
                match self.next().await? {
                    Frame::Text(frame) => {
                        let frame = json(&frame)?;
                        if frame["type"] == "reply" {
                            return Ok(frame);
                        }
                    }
                    end => bail!("{end:?} instead of a reply to {command}"),
                }
            }
        });
        let reply = reply.await.context("no reply to a command")??;
        if reply["ok"] != true || reply["id"] != command["id"] {
            bail!("{command} returned {reply}");
        }
        Ok(reply["result"].clone())
    }
}

/// The subprotocol of the service.
const SUBPROTOCOL: &str = "agent-service.v1";

/// Parses a text frame.
pub fn json(frame: &str) -> Result<Value> {
    serde_json::from_str(frame).context("a frame without JSON")
}

/// Connects with a small receive buffer, so that unread data stays with the server.
pub async fn connect_with_small_buffer(address: SocketAddr) -> Result<TcpStream> {
    let socket = TcpSocket::new_v4().context("cannot make a socket")?;
    let set = socket.set_recv_buffer_size(SMALL_RECEIVE_BUFFER);
    set.context("cannot set the receive buffer")?;
    socket.connect(address).await.context("cannot connect")
}
