//! Raw TCP connections, for malformed requests.

use std::{net::SocketAddr, time::Duration};

use reqwest::{
    StatusCode,
    header::{HeaderMap, HeaderName, HeaderValue},
};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpSocket, TcpStream},
};

use crate::response::ApiResponse;

/// The timeout of a test that hangs.
const TIMEOUT: Duration = Duration::from_secs(30);

/// A raw connection.
pub(crate) struct Connection(TcpStream);

impl Connection {
    pub(crate) async fn open(address: SocketAddr) -> Self {
        Self(TcpStream::connect(address).await.expect("a connection"))
    }

    /// A connection with small buffers.
    pub(crate) async fn open_narrow(address: SocketAddr) -> Self {
        let socket = TcpSocket::new_v4().expect("a socket");
        socket.set_recv_buffer_size(16 * 1024).expect("a size");
        Self(socket.connect(address).await.expect("a connection"))
    }

    /// Sends bytes; the server may have closed the connection.
    pub(crate) async fn send(&mut self, bytes: impl AsRef<[u8]>) {
        let _ = self.0.write_all(bytes.as_ref()).await;
    }

    /// Sends bytes, and returns whether the connection was open.
    pub(crate) async fn send_if_open(&mut self, bytes: impl AsRef<[u8]>) -> bool {
        self.0.write_all(bytes.as_ref()).await.is_ok()
    }

    /// The next chunk.
    pub(crate) async fn receive(&mut self) -> Vec<u8> {
        self.receive_for(TIMEOUT).await
    }

    /// The chunk that arrives within this time, if any.
    pub(crate) async fn receive_for(&mut self, patience: Duration) -> Vec<u8> {
        let mut buffer = [0; 4096];
        match tokio::time::timeout(patience, self.0.read(&mut buffer)).await {
            Ok(Ok(count)) => buffer[..count].to_vec(),
            Ok(Err(_)) | Err(_) => Vec::new(),
        }
    }

    /// Closes the write direction.
    pub(crate) async fn end(&mut self) {
        let _ = self.0.shutdown().await;
    }

    /// All bytes until the server closes the connection.
    pub(crate) async fn receive_all(&mut self) -> Vec<u8> {
        let mut received = Vec::new();
        let mut buffer = [0; 4096];
        loop {
            let read = tokio::time::timeout(TIMEOUT, self.0.read(&mut buffer));
            match read
                .await
                .expect("the server closes the connection in time")
            {
                Ok(0) | Err(_) => return received,
                Ok(count) => received.extend_from_slice(&buffer[..count]),
            }
        }
    }

    /// The only response before the server closes the connection.
    pub(crate) async fn answer_to(&mut self, method: &str, path: &str) -> ApiResponse {
        let received = self.receive_all().await;
        let (status, headers, body) = parsed(&received);
        ApiResponse::checked(method, path, status, headers, body)
    }
}

/// Sends one request on a connection that is closed after the response.
pub(crate) async fn answer(address: SocketAddr, request: impl AsRef<[u8]>) -> ApiResponse {
    let request = request.as_ref();
    let line = String::from_utf8_lossy(request);
    let mut words = line.split(' ');
    let (method, path) = (words.next().unwrap_or("GET"), words.next().unwrap_or("/"));
    let mut connection = Connection::open(address).await;
    connection.send(request).await;
    connection.answer_to(method, path).await
}

/// The HTTP parser's rejection: a bare status and a closed connection, or only the latter.
pub(crate) async fn assert_cut_off(address: SocketAddr, request: impl AsRef<[u8]>) {
    let mut connection = Connection::open(address).await;
    connection.send(request).await;
    connection.end().await;
    let received = connection.receive_all().await;
    if !received.is_empty() {
        let (status, _, body) = parsed(&received);
        assert!(matches!(status.as_u16(), 400 | 431), "{status}");
        assert!(body.is_empty(), "{body:?}");
    }
}

fn parsed(received: &[u8]) -> (StatusCode, HeaderMap, Vec<u8>) {
    let shown = String::from_utf8_lossy(received);
    let end = received.windows(4).position(|bytes| bytes == b"\r\n\r\n");
    let end = end.unwrap_or_else(|| panic!("no whole head in {shown:?}"));
    let head = std::str::from_utf8(&received[..end]).expect("a head of ASCII");
    let mut lines = head.split("\r\n");
    let status = lines.next().and_then(|line| line.split(' ').nth(1));
    let status = status.and_then(|status| status.parse().ok());
    let mut headers = HeaderMap::new();
    for line in lines {
        let (name, value) = line.split_once(':').expect("a header line");
        let name: HeaderName = name.parse().expect("a header's name");
        headers.append(name, HeaderValue::from_str(value.trim()).expect("a value"));
    }
    let body = received[end + 4..].to_vec();
    if let Some(length) = headers.get("content-length") {
        let length: usize = length
            .to_str()
            .ok()
            .and_then(|it| it.parse().ok())
            .expect("a length");
        assert_eq!(length, body.len(), "{shown:?}");
    }
    (status.expect("a status line"), headers, body)
}
