//! Asks a running service whether it is ready.

use anyhow::{Context as _, Result, ensure};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use url::{Position, Url};

/// Requests `/readyz` from a running service and returns the status. This is minimal HTTP, because
/// a check that runs in a container every few seconds should not load a full client.
pub(super) async fn fetch_status(url: &str) -> Result<u16> {
    let url = Url::parse(url)?;
    ensure!(url.scheme() == "http", "the URL must begin with http://");
    let mut stream = tokio::net::TcpStream::connect(&*url.socket_addrs(|| None)?).await?;
    let authority = &url[Position::BeforeHost..Position::AfterPort];
    let request = format!("GET /readyz HTTP/1.1\r\nHost: {authority}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    let mut response = Vec::new();
    stream.take(4096).read_to_end(&mut response).await?;
    let response = String::from_utf8_lossy(&response);
    let status = response.split(' ').nth(1).context("no HTTP response")?;
    Ok(status.parse()?)
}
