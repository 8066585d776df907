//! Opens a connection to the home region.

use std::{io, sync::Arc, time::Duration};

use bytes::Bytes;
use futures::future::BoxFuture;
use http::Request;
use hyper::{
    client::conn::http2::{self, SendRequest},
    rt::Executor,
};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use ports::error::with_causes;
use rustls::{ClientConfig, pki_types::ServerName};
use rustls_platform_verifier::ConfigVerifierExt as _;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpStream,
    sync::Semaphore,
    time::{Instant, timeout},
};
use tokio_rustls::TlsConnector;
use tokio_util::sync::CancellationToken;

use crate::{
    address::HomeAddress,
    connect_error::ConnectError,
    outgoing::{WireBody, whole},
};

/// The interval between two PINGs, also while nothing is sent.
const PING_INTERVAL: Duration = Duration::from_millis(250);
/// The time without an answer to a PING after which the connection is lost. It is longer than the
/// longest round trip on earth with one lost packet.
const PING_TIMEOUT: Duration = Duration::from_millis(750);
/// The time for each address of a host: the longest round trip on earth, and the repetition of a lost
/// first packet after a second.
const ADDRESS_TIMEOUT: Duration = Duration::from_millis(1_400);
/// The flow-control window of a response in bytes, so that no body waits for a round trip.
const STREAM_WINDOW: u32 = 2 * 1024 * 1024;
/// The window of all responses together: the maximum, so that those that clients do not read cannot
/// block others. What may wait is limited for each tenant where clients are served.
const CONNECTION_WINDOW: u32 = (1 << 31) - 1;
/// The number of streams that are kept free for requests of this node itself.
const OWN_STREAMS: usize = 8;
/// The maximum number of bodies that are streamed at the same time. With 512 KiB of each, the home region
/// has room for other bodies on the connection although it accepts nothing of these.
const MAX_STREAMED_BODIES: usize = 16;
const H2: &[u8] = b"h2";

/// The sending half of an open connection.
pub(crate) type Sender = SendRequest<WireBody>;

/// Ends when the connection does, with the cause.
pub(crate) type Lost = BoxFuture<'static, Option<String>>;

/// An open connection.
#[derive(Debug, Clone)]
pub(crate) struct OpenConnection {
    pub(crate) sender: Sender,
    /// The streams that the other end permits for requests of clients. A request that exceeds them
    /// would wait without a limit.
    pub(crate) streams: Arc<Semaphore>,
    /// Those of them that may have a streamed body, which a slow client keeps open.
    pub(crate) streamed_bodies: Arc<Semaphore>,
    /// The time of the first request and its response.
    pub(crate) round_trip: Duration,
    /// Cancelled to end the connection with all its requests.
    pub(crate) abandoned: CancellationToken,
}

/// Runs the tasks of a connection until it is abandoned.
#[derive(Clone)]
struct ConnectionTasks {
    abandoned: CancellationToken,
}

impl<F> Executor<F> for ConnectionTasks
where
    F: Future<Output: Send + 'static> + Send + 'static,
{
    fn execute(&self, task: F) {
        TokioExecutor::new().execute(self.abandoned.clone().run_until_cancelled_owned(task));
    }
}

/// Opens connections.
pub(crate) struct Dialer {
    address: HomeAddress,
    /// `None` without TLS.
    tls: Option<TlsConnector>,
}

impl Dialer {
    /// Fails if the certificates of the operating system cannot be read.
    pub(crate) fn new(address: HomeAddress) -> Result<Self, rustls::Error> {
        let tls = address.is_tls.then(tls_connector).transpose()?;
        Ok(Self { address, tls })
    }

    /// Opens a connection, which is served.
    pub(crate) async fn connect(&self) -> Result<(OpenConnection, Lost), ConnectError> {
        let stream = self.reach().await?;
        // Otherwise a small request would wait for the acknowledgement of the previous one.
        stream.set_nodelay(true)?;
        limit_unsent(&stream)?;
        let Some(tls) = &self.tls else {
            return self.open(stream).await;
        };
        let name = ServerName::try_from(self.address.host.clone());
        let name = name.map_err(|error| ConnectError::Tls(error.into()))?;
        let stream = tls.connect(name, stream).await;
        let stream = stream.map_err(ConnectError::of_tls)?;
        if stream.get_ref().1.alpn_protocol() != Some(H2) {
            return Err(ConnectError::NoHttp2);
        }
        self.open(stream).await
    }

    /// Connects to the first address of the host that responds.
    async fn reach(&self) -> io::Result<TcpStream> {
        let HomeAddress { host, port, .. } = &self.address;
        let mut last = io::Error::from(io::ErrorKind::NotFound);
        for mut address in http_clients::look_up(host).await? {
            address.set_port(*port);
            match timeout(ADDRESS_TIMEOUT, TcpStream::connect(address)).await {
                Ok(Ok(stream)) => return Ok(stream),
                Ok(Err(error)) => last = error,
                Err(_elapsed) => last = io::ErrorKind::TimedOut.into(),
            }
        }
        Err(last)
    }

    async fn open<S>(&self, stream: S) -> Result<(OpenConnection, Lost), ConnectError>
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let unreachable = |error: hyper::Error| ConnectError::Unreachable(error.into());
        let abandoned = CancellationToken::new();
        let tasks = ConnectionTasks {
            abandoned: abandoned.clone(),
        };
        let (mut sender, mut connection) = http2::Builder::new(tasks)
            .timer(TokioTimer::new())
            .initial_stream_window_size(STREAM_WINDOW)
            .initial_connection_window_size(CONNECTION_WINDOW)
            .keep_alive_interval(PING_INTERVAL)
            .keep_alive_timeout(PING_TIMEOUT)
            .keep_alive_while_idle(true)
            .handshake(TokioIo::new(stream))
            .await
            .map_err(unreachable)?;
        // A request on a connection that nothing serves would count as sent.
        let probe = self.probe();
        let probe = probe.map_err(|error| ConnectError::Unreachable(error.into()))?;
        let sent_at = Instant::now();
        let answer = sender.send_request(probe);
        let answer = tokio::select! {
            ended = &mut connection => {
                ended.map_err(unreachable)?;
                return Err(ConnectError::Unreachable("closed by the other side".into()));
            }
            answer = answer => answer.map_err(unreachable)?,
        };
        let round_trip = sent_at.elapsed();
        if !answer.status().is_success() {
            return Err(ConnectError::Proxy(answer.status().as_u16()));
        }
        let permitted = connection.current_max_send_streams();
        let streams = permitted.saturating_sub(OWN_STREAMS).max(1);
        let streamed_bodies = (streams / 2).clamp(1, MAX_STREAMED_BODIES);
        let open = OpenConnection {
            sender,
            streams: Arc::new(Semaphore::new(streams.min(Semaphore::MAX_PERMITS))),
            streamed_bodies: Arc::new(Semaphore::new(streamed_bodies)),
            round_trip,
            abandoned,
        };
        let lost = async move { connection.await.err().map(|error| with_causes(&error)) };
        Ok((open, Box::pin(lost)))
    }

    /// Returns the request that shows that a connection is served.
    fn probe(&self) -> Result<Request<WireBody>, http::Error> {
        let url = format!("{}/livez", self.address.base_url);
        Request::get(url).body(whole(Bytes::new()))
    }
}

/// Limits the unsent bytes that the system accepts: PINGs would wait behind megabytes of streamed bodies, and the
/// connection would count as lost.
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

fn tls_connector() -> Result<TlsConnector, rustls::Error> {
    let mut config = ClientConfig::with_platform_verifier()?;
    config.alpn_protocols = vec![H2.to_vec()];
    Ok(TlsConnector::from(Arc::new(config)))
}
