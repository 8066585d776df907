//! The connection to the home region, replaced whenever it is lost.

use std::{io, sync::Arc, time::Duration};

use bytes::Bytes;
use futures::future::BoxFuture;
use http::Request;
use http_body_util::Full;
use hyper::client::conn::http2::{self, SendRequest};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use ports::{BoxError, error::with_causes};
use rustls::{ClientConfig, pki_types::ServerName};
use rustls_platform_verifier::ConfigVerifierExt as _;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpStream,
    sync::{Notify, watch},
    time::{sleep, timeout},
};
use tokio_rustls::TlsConnector;
use tokio_util::task::TaskTracker;

use crate::address::HomeAddress;

/// The interval between two PINGs, also while nothing is sent.
const PING_INTERVAL: Duration = Duration::from_millis(250);
/// The time without an answer to a PING after which the connection is lost. It is longer than the
/// longest round trip on earth with one lost packet.
const PING_TIMEOUT: Duration = Duration::from_millis(750);
/// The time in which a connection must be open, with its TLS: three round trips, some of which
/// may be repeated.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// The pauses between attempts to connect double from the first to the longest.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);
/// The flow-control windows in bytes, so that no body of a response waits for a round trip.
const STREAM_WINDOW: u32 = 2 * 1024 * 1024;
const CONNECTION_WINDOW: u32 = 16 * 1024 * 1024;
const H2: &[u8] = b"h2";

/// The sending half of an open connection.
pub(crate) type Sender = SendRequest<Full<Bytes>>;

/// Ends when the connection does, with the cause.
type Lost = BoxFuture<'static, Option<String>>;

/// Keeps one connection open.
pub(crate) struct Connector {
    address: HomeAddress,
    /// `None` without TLS.
    tls: Option<TlsConnector>,
    opened: watch::Sender<Option<Sender>>,
    /// Notified if the home node at the other end shuts down.
    replace: Arc<Notify>,
    /// The connections that end with their last request.
    tasks: TaskTracker,
}

impl Connector {
    /// Creates a connector without a connection. Fails if the certificates of the operating system
    /// cannot be read.
    pub(crate) fn new(address: HomeAddress, tasks: TaskTracker) -> Result<Self, rustls::Error> {
        let tls = address.is_tls.then(tls_connector).transpose()?;
        Ok(Self {
            address,
            tls,
            opened: watch::Sender::new(None),
            replace: Arc::default(),
            tasks,
        })
    }

    /// Subscribes to the open connection.
    pub(crate) fn opened(&self) -> watch::Receiver<Option<Sender>> {
        self.opened.subscribe()
    }

    /// Returns a handle that makes new requests use another connection.
    pub(crate) fn replace(&self) -> Arc<Notify> {
        Arc::clone(&self.replace)
    }

    /// Keeps a connection open until the task is dropped.
    pub(crate) async fn run(self) {
        let mut pause = FIRST_PAUSE;
        loop {
            match timeout(CONNECT_TIMEOUT, self.connect()).await {
                Ok(Ok(lost)) => {
                    pause = FIRST_PAUSE;
                    metrics::gauge!("region_home_connected").set(1.0);
                    self.hold(lost).await;
                }
                Ok(Err(error)) => {
                    let error = with_causes(&*error);
                    tracing::debug!(error, "cannot connect to the home region; retrying");
                }
                Err(_elapsed) => {
                    tracing::debug!("the home region does not respond; retrying");
                }
            }
            metrics::gauge!("region_home_connected").set(0.0);
            sleep(pause).await;
            pause = LONGEST_PAUSE.min(pause * 2);
        }
    }

    /// Uses a connection until it is lost or to be replaced.
    async fn hold(&self, mut lost: Lost) {
        tokio::select! {
            cause = &mut lost => {
                let cause = cause.as_deref();
                tracing::warn!(cause, "connection to the home region lost; reconnecting");
            }
            () = self.replace.notified() => {
                tracing::info!("the node of the home region shuts down; opening another connection");
                // It ends with its last request.
                self.tasks.spawn(lost);
            }
        }
        self.opened.send_replace(None);
    }

    async fn connect(&self) -> Result<Lost, BoxError> {
        let HomeAddress { host, port, .. } = &self.address;
        let stream = TcpStream::connect((host.as_str(), *port)).await?;
        // Otherwise a small request would wait for the acknowledgement of the previous one.
        stream.set_nodelay(true)?;
        let Some(tls) = &self.tls else {
            return self.open(stream).await;
        };
        let name = ServerName::try_from(host.clone())?;
        let stream = tls.connect(name, stream).await?;
        if stream.get_ref().1.alpn_protocol() != Some(H2) {
            let why = "the home region, or the proxy in front of it, does not offer HTTP/2";
            return Err(io::Error::other(why).into());
        }
        self.open(stream).await
    }

    async fn open<S>(&self, stream: S) -> Result<Lost, BoxError>
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let (mut sender, connection) = http2::Builder::new(TokioExecutor::new())
            .timer(TokioTimer::new())
            .initial_stream_window_size(STREAM_WINDOW)
            .initial_connection_window_size(CONNECTION_WINDOW)
            .keep_alive_interval(PING_INTERVAL)
            .keep_alive_timeout(PING_TIMEOUT)
            .keep_alive_while_idle(true)
            .handshake(TokioIo::new(stream))
            .await?;
        let mut lost: Lost =
            Box::pin(async move { connection.await.err().map(|error| with_causes(&error)) });
        // A request on a connection that nobody serves would count as sent.
        let answer = sender.send_request(self.probe()?);
        tokio::select! {
            cause = &mut lost => {
                let cause = cause.unwrap_or_else(|| "closed by the other side".to_owned());
                return Err(cause.into());
            }
            answer = answer => drop(answer?),
        }
        self.opened.send_replace(Some(sender));
        Ok(lost)
    }
}

impl Connector {
    /// Returns the request that shows that a connection is served.
    fn probe(&self) -> Result<Request<Full<Bytes>>, http::Error> {
        let HomeAddress {
            origin, base_path, ..
        } = &self.address;
        let url = format!("{origin}{base_path}/livez");
        Request::get(url).body(Full::default())
    }
}

fn tls_connector() -> Result<TlsConnector, rustls::Error> {
    let mut config = ClientConfig::with_platform_verifier()?;
    config.alpn_protocols = vec![H2.to_vec()];
    Ok(TlsConnector::from(Arc::new(config)))
}
