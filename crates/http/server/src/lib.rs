//! The HTTP server of actix-web over connections with deadlines of their own.
//!
//! This crate knows nothing of the product: it serves any actix application.

use std::{
    fmt, io,
    net::{SocketAddr, TcpListener},
    time::Duration,
};

use actix_http::{
    HttpService, Protocol, Request, Response, body::MessageBody, error::DispatchError,
};
use actix_server::{Server, ServerHandle};
use actix_service::{
    IntoServiceFactory, Service, ServiceFactory, ServiceFactoryExt as _, boxed, fn_service,
    map_config,
};
use actix_web::{Error, dev::AppConfig};
use tokio::net::TcpStream;
use tokio_util::sync::CancellationToken;

mod connection;
mod preface;

use connection::Connection;
pub use connection::{ConnectionState, hold_until_sent};

/// The time for which an idle connection is kept for the next request. `docs/operations.md` names
/// it, because the idle timeout of a load balancer must be shorter.
const KEEP_ALIVE: Duration = Duration::from_secs(75);
/// The time for which the client may take to close a connection that the server has closed.
const DISCONNECT_DEADLINE: Duration = Duration::from_secs(1);

/// The flow-control windows of HTTP/2 in bytes, so that usual bodies of requests do not wait for a round trip, and
/// PINGs not for those of files.
const STREAM_WINDOW: u32 = 512 * 1024;
/// More than what the 16 bodies have together that a far region streams at the same time, so that others
/// arrive although the handlers read nothing of these.
const CONNECTION_WINDOW: u32 = 32 * STREAM_WINDOW;

/// The HTTP versions that a server accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Versions {
    /// HTTP/1.1 and earlier.
    Http1,
    /// These, and HTTP/2 without TLS from clients that know it beforehand (RFC 9113, section 3.3).
    Http1And2,
}

/// Runs the HTTP server with `workers` threads. Once `closing` is cancelled, idle connections are
/// closed, and clients of HTTP/2 are asked to use another one; after the server is stopped, running
/// requests have the time `grace`. Replaces `actix_web::HttpServer`, which cannot use these connections.
pub fn serve<F, I, S, B>(
    listener: TcpListener,
    workers: usize,
    grace: Duration,
    closing: &CancellationToken,
    versions: Versions,
    app: F,
) -> io::Result<Server>
where
    F: Fn() -> I + Send + Clone + 'static,
    I: IntoServiceFactory<S, Request>,
    S: ServiceFactory<Request, Config = AppConfig> + 'static,
    S::Error: Into<Error> + 'static,
    S::InitError: fmt::Debug,
    S::Response: Into<Response<B>> + 'static,
    <S::Service as Service<Request>>::Future: 'static,
    S::Service: 'static,
    B: MessageBody + 'static,
{
    let builder = Server::build()
        .workers(workers)
        .shutdown_timeout(grace.as_secs())
        .disable_signals();
    let closing = closing.clone();
    let address = listener.local_addr()?;
    let builder = builder.listen("http", listener, move || {
        let (closing, connections_closing) = (closing.clone(), closing.clone());
        let app = app().into_factory().map_err(|error| {
            let error: Error = error.into();
            error.error_response()
        });
        let http = HttpService::build()
            .graceful_shutdown_signal(move || closing.clone().cancelled_owned())
            .keep_alive(KEEP_ALIVE)
            // [`Connection`]s have their own deadline for the heads of requests.
            .client_request_timeout(Duration::ZERO)
            .client_disconnect_timeout(DISCONNECT_DEADLINE)
            .local_addr(address)
            .h2_initial_window_size(STREAM_WINDOW)
            .h2_initial_connection_window_size(CONNECTION_WINDOW)
            .on_connect_ext(|connection: &Connection, data| {
                // Requests that share a connection have no state in common.
                if !connection.is_shared() {
                    data.insert(connection.state());
                }
            })
            .finish(map_config(app, |()| AppConfig::default()));
        let accept = move |stream| Box::pin(accept(stream, versions, connections_closing.clone()));
        // Boxed: otherwise the task of each connection reserves the size of the largest future twice.
        fn_service(accept).and_then(boxed::factory(http))
    })?;
    Ok(builder.run())
}

/// Prepares a connection that a client has opened.
async fn accept(
    stream: TcpStream,
    versions: Versions,
    closing: CancellationToken,
) -> Result<(Connection, Protocol, Option<SocketAddr>), DispatchError> {
    // Without this, the first part of a stream would wait for the client's next packet.
    stream.set_nodelay(true)?;
    limit_unsent(&stream)?;
    let peer = stream.peer_addr().ok();
    let is_http2 = versions == Versions::Http1And2 && preface::is_http2(&stream).await?;
    let (connection, protocol) = if is_http2 {
        (Connection::shared(stream, closing), Protocol::Http2)
    } else {
        (Connection::new(stream), Protocol::Http1)
    };
    Ok((connection, protocol, peer))
}

/// Makes a running server refuse new connections; `listener` is a clone of its listener.
pub async fn refuse_connections(server: &ServerHandle, listener: &TcpListener) {
    server.pause().await;
    // The thread that accepts is notified only. It logs an error if the listener is shut down first.
    tokio::time::sleep(Duration::from_millis(10)).await;
    // A paused server leaves new connections in the backlog. Where the system cannot shut down a
    // listener, they wait there until the server is stopped.
    let _ = socket2::SockRef::from(listener).shutdown(std::net::Shutdown::Both);
}

/// Limits the unsent bytes that the system accepts beyond the client's receive window. By default
/// that is megabytes, of which a third must be sent before more is accepted: a slow but steady
/// reader would seem to be blocked for that long.
#[cfg(target_os = "linux")]
fn limit_unsent(stream: &TcpStream) -> io::Result<()> {
    const MAX_UNSENT_BYTES: u32 = 64 * 1024;
    socket2::SockRef::from(stream).set_tcp_notsent_lowat(MAX_UNSENT_BYTES)
}

/// Keeps the system's limit where it cannot be set.
#[cfg(not(target_os = "linux"))]
fn limit_unsent(_: &TcpStream) -> io::Result<()> {
    Ok(())
}
