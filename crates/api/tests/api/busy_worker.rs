//! A busy process does not blame its clients.

use std::{
    io,
    net::{SocketAddr, TcpListener},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

use actix_web::{App, HttpRequest, HttpResponse, web};
use server::ConnectionState;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::raw::Connection;

/// Longer than the header timeout.
const BUSY: Duration = Duration::from_secs(6);

/// The state of the only worker.
type IsBusy = Arc<AtomicBool>;

async fn respond(request: HttpRequest) -> HttpResponse {
    let progress = ConnectionState::of(&request);
    progress.begin_request(true);
    progress.end_request();
    HttpResponse::Ok().finish()
}

async fn block(request: HttpRequest, is_busy: web::Data<AtomicBool>) -> HttpResponse {
    is_busy.store(true, Ordering::SeqCst);
    thread::sleep(BUSY);
    respond(request).await
}

/// A server with one worker, which can be blocked, until the last is dropped.
fn serve() -> (SocketAddr, IsBusy, JoinSet<io::Result<()>>) {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
    let address = listener.local_addr().expect("an address");
    let is_busy = IsBusy::default();
    let data = web::Data::from(Arc::clone(&is_busy));
    let app = move || {
        App::new()
            .app_data(data.clone())
            .route("/", web::get().to(respond))
            .route("/block", web::get().to(block))
    };
    let closing = CancellationToken::new();
    let server = server::serve(
        listener,
        1,
        Duration::ZERO,
        &closing,
        server::Versions::Http1,
        app,
    );
    let server = server.expect("a server");
    let mut serving = JoinSet::new();
    serving.spawn(server);
    (address, is_busy, serving)
}

async fn ask(connection: &mut Connection, path: &str) {
    let request = format!("GET {path} HTTP/1.1\r\nHost: test\r\n\r\n");
    connection.send(request).await;
}

async fn assert_answered(connection: &mut Connection, what: &str) {
    let respond = connection.receive().await;
    let respond = String::from_utf8_lossy(&respond);
    assert!(respond.starts_with("HTTP/1.1 200 "), "{what}: {respond:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_arrived_while_the_worker_was_busy_is_answered() {
    let (address, is_busy, _serving) = serve();
    let mut kept = Connection::open(address).await;
    ask(&mut kept, "/").await;
    assert_answered(&mut kept, "the first request").await;
    kept.send("GET / HTTP/1.1\r\n").await;
    let mut new = Connection::open(address).await;
    // Connections are accepted in order: once this one is answered, the worker knows the one before
    // it.
    let mut blocking = Connection::open(address).await;
    ask(&mut blocking, "/").await;
    assert_answered(&mut blocking, "a request after it").await;
    ask(&mut blocking, "/block").await;
    while !is_busy.load(Ordering::SeqCst) {
        tokio::task::yield_now().await;
    }
    ask(&mut new, "/").await;
    kept.send("Host: test\r\n\r\n").await;
    assert_answered(&mut new, "on a new connection").await;
    assert_answered(&mut kept, "on a kept connection").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_sends_nothing_receives_a_timeout() {
    let (address, _, _serving) = serve();
    let mut silent = Connection::open(address).await;
    let respond = silent.receive().await;
    let respond = String::from_utf8_lossy(&respond);
    assert!(respond.starts_with("HTTP/1.1 408 "), "{respond:?}");
    assert_eq!(silent.receive().await, b"");
}
