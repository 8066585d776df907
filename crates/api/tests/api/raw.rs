//! Bytes on a socket, for requests that no honest client sends.

use std::{net::SocketAddr, time::Duration};

use reqwest::{
    StatusCode,
    header::{HeaderMap, HeaderName, HeaderValue},
};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpSocket, TcpStream},
};

use crate::answer::Answer;

/// Long enough for a slow machine, short enough for a test that hangs.
const PATIENCE: Duration = Duration::from_secs(30);

/// A connection of the test's own.
pub(crate) struct Connection(TcpStream);

impl Connection {
    pub(crate) async fn open(address: SocketAddr) -> Self {
        Self(TcpStream::connect(address).await.expect("a connection"))
    }

    /// A connection that takes little before it is read.
    pub(crate) async fn open_narrow(address: SocketAddr) -> Self {
        let socket = TcpSocket::new_v4().expect("a socket");
        socket.set_recv_buffer_size(16 * 1024).expect("a size");
        Self(socket.connect(address).await.expect("a connection"))
    }

    /// Sends bytes; the server may have hung up already.
    pub(crate) async fn send(&mut self, bytes: impl AsRef<[u8]>) {
        let _ = self.0.write_all(bytes.as_ref()).await;
    }

    /// Sends bytes, and answers whether the connection was still open.
    pub(crate) async fn send_if_open(&mut self, bytes: impl AsRef<[u8]>) -> bool {
        self.0.write_all(bytes.as_ref()).await.is_ok()
    }

    /// What arrives next in one piece.
    pub(crate) async fn receive(&mut self) -> Vec<u8> {
        self.receive_for(PATIENCE).await
    }

    /// What arrives in one piece within this time, if anything.
    pub(crate) async fn receive_for(&mut self, patience: Duration) -> Vec<u8> {
        let mut buffer = [0; 4096];
        match tokio::time::timeout(patience, self.0.read(&mut buffer)).await {
            Ok(Ok(count)) => buffer[..count].to_vec(),
            Ok(Err(_)) | Err(_) => Vec::new(),
        }
    }

    /// Tells the server that no more will come.
    pub(crate) async fn end(&mut self) {
        let _ = self.0.shutdown().await;
    }

    /// All bytes until the server closes the connection.
    pub(crate) async fn receive_all(&mut self) -> Vec<u8> {
        let mut received = Vec::new();
        let mut buffer = [0; 4096];
        loop {
            let read = tokio::time::timeout(PATIENCE, self.0.read(&mut buffer));
            match read
                .await
                .expect("the server closes the connection in time")
            {
                Ok(0) | Err(_) => return received,
                Ok(count) => received.extend_from_slice(&buffer[..count]),
            }
        }
    }

    /// The one answer before the server closes the connection.
    pub(crate) async fn answer_to(&mut self, method: &str, path: &str) -> Answer {
        let received = self.receive_all().await;
        let (status, headers, body) = parsed(&received);
        Answer::checked(method, path, status, headers, body)
    }
}

/// Sends one whole request on a connection that ends with the answer.
pub(crate) async fn answer(address: SocketAddr, request: impl AsRef<[u8]>) -> Answer {
    let request = request.as_ref();
    let line = String::from_utf8_lossy(request);
    let mut words = line.split(' ');
    let (method, path) = (words.next().unwrap_or("GET"), words.next().unwrap_or("/"));
    let mut connection = Connection::open(address).await;
    connection.send(request).await;
    connection.answer_to(method, path).await
}

/// What the HTTP parser refuses before there is a request: a bare status and a closed connection,
/// or the closed connection alone.
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
