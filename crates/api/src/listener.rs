//! The HTTP server over [`Connection`]s.

use std::{fmt, io, net::TcpListener, time::Duration};

use actix_http::{HttpService, Protocol, Request, Response, body::MessageBody};
use actix_server::Server;
use actix_service::{
    IntoServiceFactory, Service, ServiceFactory, ServiceFactoryExt as _, fn_service, map_config,
};
use actix_web::{Error, dev::AppConfig};
use tokio::net::TcpStream;

use crate::connection::Connection;

/// How long a connection is kept for the client's next request.
const KEEP_ALIVE: Duration = Duration::from_secs(75);
/// How long a connection that was closed here may take to close there.
const DISCONNECT_DEADLINE: Duration = Duration::from_secs(1);

/// Serves what `app` makes, on so many threads; `grace` is how long requests under way may take
/// once it is stopped. What `actix_web::HttpServer` does, but over our own connections.
pub fn serve<F, I, S, B>(
    listener: TcpListener,
    workers: usize,
    grace: Duration,
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
    let stopping = builder.graceful_shutdown_signal();
    let address = listener.local_addr()?;
    let builder = builder.listen("http", listener, move || {
        let stopping = stopping.clone();
        let app = app().into_factory().map_err(|error| {
            let error: Error = error.into();
            error.error_response()
        });
        let http = HttpService::build()
            .graceful_shutdown_signal(move || {
                let stopping = stopping.clone();
                async move { stopping.notified().await }
            })
            .keep_alive(KEEP_ALIVE)
            // Connections time the heads of their requests by themselves.
            .client_request_timeout(Duration::ZERO)
            .client_disconnect_timeout(DISCONNECT_DEADLINE)
            .local_addr(address)
            .on_connect_ext(|connection: &Connection, data| {
                data.insert(connection.progress());
            })
            .finish(map_config(app, |()| AppConfig::default()));
        fn_service(|stream: TcpStream| async move {
            // Without this, the first part of a stream would wait for the client's next move.
            stream.set_nodelay(true)?;
            limit_unsent(&stream)?;
            let peer = stream.peer_addr().ok();
            Ok::<_, actix_http::error::DispatchError>((
                Connection::new(stream),
                Protocol::Http1,
                peer,
            ))
        })
        .and_then(http)
    })?;
    Ok(builder.run())
}

/// Bounds what the system takes beyond what the client has room for. By default that is megabytes,
/// and it takes more only when a third of them is sent: a client that reads slowly but steadily
/// would look blocked for as long.
#[cfg(target_os = "linux")]
fn limit_unsent(stream: &TcpStream) -> io::Result<()> {
    const MOST_UNSENT: u32 = 64 * 1024;
    socket2::SockRef::from(stream).set_tcp_notsent_lowat(MOST_UNSENT)
}

/// Leaves the system's own limit where it cannot be set.
#[cfg(not(target_os = "linux"))]
fn limit_unsent(_: &TcpStream) -> io::Result<()> {
    Ok(())
}
