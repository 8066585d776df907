//! Socket upgrades and their errors.

use std::net::SocketAddr;

use serde_json::Value;
use tokio::net::{TcpSocket, TcpStream};
use tokio_tungstenite::tungstenite::{
    self,
    client::IntoClientRequest as _,
    handshake::client::Request,
    http::{HeaderName, HeaderValue},
    protocol::WebSocketConfig,
};

use super::SocketClient;
use crate::{api_server::ApiServer, caller::Caller};

/// The request of an upgrade.
pub(crate) struct Upgrade {
    address: SocketAddr,
    request: Request,
    is_narrow: bool,
}

impl Upgrade {
    /// Without a credential.
    pub(crate) fn new(api: &ApiServer) -> Self {
        Self::with_path(api, "/api/ws")
    }

    /// The same with a query.
    pub(crate) fn with_path(api: &ApiServer, path: &str) -> Self {
        Self::at_address(api.address, path)
    }

    /// The same for a draining service.
    pub(crate) fn at_address(address: SocketAddr, path: &str) -> Self {
        let url = format!("ws://{address}{path}");
        Self {
            address,
            request: url.into_client_request().expect("a request"),
            is_narrow: false,
        }
    }

    /// Uses a connection with small buffers.
    pub(crate) fn with_small_buffers(mut self) -> Self {
        self.is_narrow = true;
        self
    }

    async fn connection(&self) -> TcpStream {
        let socket = TcpSocket::new_v4().expect("a socket");
        if self.is_narrow {
            socket
                .set_recv_buffer_size(8 * 1024)
                .expect("a small buffer");
        }
        socket.connect(self.address).await.expect("connected")
    }

    pub(crate) fn header(mut self, name: &str, value: &str) -> Self {
        let name: HeaderName = name.parse().expect("a name");
        let value = HeaderValue::from_str(value).expect("a value");
        self.request.headers_mut().append(name, value);
        self
    }

    /// With a caller's credential.
    pub(crate) fn with_caller(self, caller: &Caller) -> Self {
        if caller.key().starts_with("agk_") {
            self.header("X-API-Key", caller.key())
        } else {
            self.header("Authorization", &format!("Bearer {}", caller.key()))
        }
    }

    /// The socket, or the error response.
    pub(crate) async fn try_open(self) -> Result<SocketClient, RejectedUpgrade> {
        let connection = self.connection().await;
        let mut config = WebSocketConfig::default();
        config.max_frame_size = None;
        config.max_message_size = None;
        let opened =
            tokio_tungstenite::client_async_with_config(self.request, connection, Some(config));
        match opened.await {
            Ok((stream, response)) => {
                assert_eq!(response.status(), 101);
                let protocol = text(response.headers().get("sec-websocket-protocol"));
                Ok(SocketClient::new(stream, protocol))
            }
            Err(tungstenite::Error::Http(response)) => Err(RejectedUpgrade {
                status: response.status().as_u16(),
                problem: serde_json::from_slice(response.body().as_deref().unwrap_or_default())
                    .unwrap_or(Value::Null),
                headers: response.headers().clone(),
            }),
            Err(other) => panic!("{other}"),
        }
    }

    pub(crate) async fn open(self) -> SocketClient {
        let opened = self.try_open().await;
        opened.unwrap_or_else(|rejected| panic!("{rejected:?}"))
    }

    /// The error with this code.
    pub(crate) async fn expect_rejection(self) -> RejectedUpgrade {
        match self.try_open().await {
            Err(rejected) => rejected,
            Ok(_) => panic!("the socket was opened"),
        }
    }
}

fn text(value: Option<&HeaderValue>) -> Option<String> {
    value.map(|value| value.to_str().expect("text").to_owned())
}

/// The response to a rejected upgrade.
#[derive(Debug)]
pub(crate) struct RejectedUpgrade {
    pub(crate) status: u16,
    pub(crate) problem: Value,
    pub(crate) headers: http::HeaderMap,
}

impl RejectedUpgrade {
    /// Its status and its code.
    pub(crate) fn status_and_code(&self) -> (u16, &str) {
        (self.status, self.problem["code"].as_str().unwrap_or("none"))
    }
}
