//! A server that speaks as much HTTP/2 (RFC 9113) as the tests need, and may break off anywhere.

use std::{
    collections::VecDeque,
    io,
    net::SocketAddr,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use domain::{RegionKey, Timestamp};
use futures::{StreamExt as _, stream};
use home_client::{HomeAddress, HomeClient, Signer};
use http::{Request, Response};
use ports::{Clock, Forwarding, Home as _, HomeBody, HomeError, IdSource, SentBody};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    sync::Notify,
    task::JoinSet,
};
use tokio_util::{
    sync::{CancellationToken, DropGuard},
    task::TaskTracker,
};
use uuid::Uuid;

const PREFACE: usize = 24;
const FRAME_HEAD: usize = 9;
const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const PING: u8 = 6;
const GOAWAY: u8 = 7;
const END_STREAM: u8 = 1;
const ACK: u8 = 1;
const END_HEADERS: u8 = 4;
const NO_ERROR: u32 = 0;
const REFUSED: u32 = 7;
/// The setting `SETTINGS_MAX_CONCURRENT_STREAMS` of 10, of which a client keeps 8 for itself.
const TEN_STREAMS: &[u8] = &[0, 3, 0, 0, 0, 10];
/// The number of streams for requests of others.
pub(crate) const STREAMS: usize = 2;
/// Fields of responses, encoded by HPACK (RFC 7541): indexed, or literal with an indexed or a new name.
const STATUS_200: &[u8] = &[0x88];
const STATUS_401: &[u8] = &[0x08, 0x03, b'4', b'0', b'1'];
const STATUS_502: &[u8] = &[0x08, 0x03, b'5', b'0', b'2'];
const REQUEST_ID: &[u8] = b"\x00\x0cx-request-id\x011";
const REGION_CHALLENGE: &[u8] = b"\x0f\x2e\x06Region";

/// The reaction of the server to a request.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Reaction {
    /// Responds with status 200.
    Answer,
    /// Announces the end of the connection, and that the request is not processed.
    GoAwayUnprocessed,
    /// Announces the end of the connection, and processes the request nevertheless.
    GoAwayProcessed,
    /// Refuses the request.
    Refuse,
    /// Closes the connection.
    Close,
    /// Closes the port and all connections.
    Stop,
    /// Does not respond.
    Ignore,
    /// Responds with status 200 and a body that does not end.
    Begin,
    /// Responds with status 502, as a proxy does.
    BadGateway,
    /// Responds so to all that follows, also on new connections.
    LoseNodes,
    /// Responds to nothing that follows, also on new connections, as a proxy whose node is frozen.
    Freeze,
    /// Responds that the signature is not valid.
    Reject,
}

/// A server. Dropping it closes its port and all connections.
pub(crate) struct Peer {
    pub(crate) address: SocketAddr,
    received: Arc<AtomicUsize>,
    reactions: Arc<Mutex<VecDeque<Reaction>>>,
    _tasks: JoinSet<()>,
}

impl Peer {
    /// Makes it a proxy without nodes.
    pub(crate) fn lose_nodes(&self) {
        let mut reactions = self.reactions.lock().expect("no panic");
        reactions.push_front(Reaction::LoseNodes);
    }

    /// Makes it a proxy whose node does not respond.
    pub(crate) fn freeze(&self) {
        let mut reactions = self.reactions.lock().expect("no panic");
        reactions.push_front(Reaction::Freeze);
    }

    /// Starts a server that reacts to the requests so, and responds to all later ones.
    pub(crate) async fn start(reactions: &[Reaction]) -> Self {
        Self::start_at(([127, 0, 0, 1], 0).into(), reactions).await
    }

    pub(crate) async fn start_at(address: SocketAddr, reactions: &[Reaction]) -> Self {
        let listener = TcpListener::bind(address).await.expect("a free port");
        let address = listener.local_addr().expect("an address");
        let received = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&received);
        let reactions: VecDeque<Reaction> = reactions.iter().copied().collect();
        let reactions = Arc::new(Mutex::new(reactions));
        let list = Arc::clone(&reactions);
        let mut tasks = JoinSet::new();
        tasks.spawn(async move {
            let mut connections = JoinSet::new();
            let stop = Arc::new(Notify::new());
            loop {
                let stream = tokio::select! {
                    Ok((stream, _)) = listener.accept() => stream,
                    () = stop.notified() => return,
                };
                let (count, reactions) = (Arc::clone(&count), Arc::clone(&reactions));
                let stop = Arc::clone(&stop);
                connections.spawn(async move {
                    let connection = Connection { stream };
                    let _closed = connection.serve(&count, &reactions, &stop).await;
                });
            }
        });
        Self {
            address,
            received,
            reactions: list,
            _tasks: tasks,
        }
    }

    /// The number of requests so far, without those that show that a connection is served.
    pub(crate) fn received(&self) -> usize {
        self.received.load(Ordering::SeqCst)
    }
}

/// Returns true if no node is behind the proxy any more.
fn are_lost(reactions: &Mutex<VecDeque<Reaction>>) -> bool {
    let reactions = reactions.lock().expect("no panic");
    matches!(reactions.front(), Some(Reaction::LoseNodes))
}

/// Returns true if the node behind the proxy does not respond any more.
fn is_frozen(reactions: &Mutex<VecDeque<Reaction>>) -> bool {
    let reactions = reactions.lock().expect("no panic");
    matches!(reactions.front(), Some(Reaction::Freeze))
}

struct Connection {
    stream: TcpStream,
}

impl Connection {
    async fn serve(
        mut self,
        received: &AtomicUsize,
        reactions: &Mutex<VecDeque<Reaction>>,
        stop: &Notify,
    ) -> io::Result<()> {
        self.stream.read_exact(&mut [0; PREFACE]).await?;
        self.write(SETTINGS, 0, 0, TEN_STREAMS).await?;
        // The first request shows that the connection is served.
        let probe = self.next_request().await?;
        let answer = [STATUS_200, REQUEST_ID].concat();
        if are_lost(reactions) {
            return self.respond(probe, STATUS_502).await;
        }
        if !is_frozen(reactions) {
            self.respond(probe, &answer).await?;
        }
        loop {
            let request = self.next_request().await?;
            received.fetch_add(1, Ordering::SeqCst);
            let reaction = if are_lost(reactions) {
                Some(Reaction::BadGateway)
            } else if is_frozen(reactions) {
                Some(Reaction::Ignore)
            } else {
                reactions.lock().expect("no panic").pop_front()
            };
            match reaction.unwrap_or(Reaction::Answer) {
                Reaction::Answer => self.respond(request, &answer).await?,
                Reaction::GoAwayUnprocessed => self.go_away(request - 2).await?,
                Reaction::GoAwayProcessed => {
                    self.go_away(request).await?;
                    self.respond(request, &answer).await?;
                }
                Reaction::Refuse => {
                    let reason = REFUSED.to_be_bytes();
                    self.write(RST_STREAM, 0, request, &reason).await?;
                }
                Reaction::Close => return Ok(()),
                Reaction::Stop => {
                    stop.notify_one();
                    std::future::pending::<()>().await;
                }
                Reaction::Freeze | Reaction::Ignore => {}
                Reaction::Begin => self.write(HEADERS, END_HEADERS, request, &answer).await?,
                Reaction::Reject => {
                    let head = [STATUS_401, REQUEST_ID, REGION_CHALLENGE].concat();
                    self.respond(request, &head).await?;
                }
                Reaction::LoseNodes | Reaction::BadGateway => {
                    self.respond(request, STATUS_502).await?;
                }
            }
        }
    }

    async fn respond(&mut self, stream: u32, head: &[u8]) -> io::Result<()> {
        let flags = END_HEADERS | END_STREAM;
        self.write(HEADERS, flags, stream, head).await
    }

    async fn go_away(&mut self, last: u32) -> io::Result<()> {
        let mut payload = last.to_be_bytes().to_vec();
        payload.extend(NO_ERROR.to_be_bytes());
        self.write(GOAWAY, 0, 0, &payload).await
    }

    /// Reads frames until a request is complete, and returns its stream.
    async fn next_request(&mut self) -> io::Result<u32> {
        loop {
            let mut head = [0; FRAME_HEAD];
            self.stream.read_exact(&mut head).await?;
            let [a, b, c, kind, flags, stream @ ..] = head;
            let mut payload = vec![0; u32::from_be_bytes([0, a, b, c]) as usize];
            self.stream.read_exact(&mut payload).await?;
            let is_ack = flags & ACK != 0;
            match kind {
                SETTINGS | PING if !is_ack => {
                    let payload = if kind == PING { &payload[..] } else { &[] };
                    self.write(kind, ACK, 0, payload).await?;
                }
                HEADERS | DATA if flags & END_STREAM != 0 => {
                    return Ok(u32::from_be_bytes(stream));
                }
                _ => {}
            }
        }
    }

    async fn write(&mut self, kind: u8, flags: u8, stream: u32, payload: &[u8]) -> io::Result<()> {
        let length = u32::try_from(payload.len()).expect("a short frame");
        let [_, a, b, c] = length.to_be_bytes();
        let mut frame = vec![a, b, c, kind, flags];
        frame.extend(stream.to_be_bytes());
        frame.extend(payload);
        self.stream.write_all(&frame).await
    }
}

/// A client of a server, which ends with this value.
pub(crate) struct Client {
    pub(crate) home: Arc<HomeClient>,
    _stop: DropGuard,
}

impl Client {
    pub(crate) fn of(address: SocketAddr) -> Self {
        let address = HomeAddress::parse(&format!("http://{address}")).expect("a loopback address");
        let signer = Signer {
            region: "eu".parse().expect("a name"),
            key: RegionKey::parse(&"k".repeat(32)).expect("a key"),
            clock: Arc::new(Noon),
            ids: Arc::new(SameId),
        };
        let stop = CancellationToken::new();
        let home = HomeClient::start(address, signer, &TaskTracker::new(), &stop);
        Self {
            home: Arc::new(home.expect("a client")),
            _stop: stop.drop_guard(),
        }
    }
}

struct Noon;

impl Clock for Noon {
    fn now(&self) -> Timestamp {
        Timestamp::from_milliseconds(43_200_000)
    }

    fn running_for(&self) -> Duration {
        Duration::ZERO
    }
}

struct SameId;

impl IdSource for SameId {
    fn next_id(&self) -> Uuid {
        Uuid::from_u128(1)
    }

    fn fill_random(&self, bytes: &mut [u8]) {
        bytes.fill(1);
    }
}

impl Client {
    /// Sends a write, which may be sent twice if it is repeatable.
    pub(crate) async fn write(&self, is_repeatable: bool) -> Result<u16, HomeError> {
        let sent = self.begin_write(is_repeatable).await;
        sent.map(|response| response.status().as_u16())
    }

    /// Sends a write, and returns its response with a body that is not read.
    pub(crate) async fn begin_write(
        &self,
        is_repeatable: bool,
    ) -> Result<Response<HomeBody>, HomeError> {
        let forwarding = Forwarding {
            is_repeatable,
            ..Forwarding::default()
        };
        self.home.send(post("/api/agents"), Some(forwarding)).await
    }

    /// Sends a write whose body is streamed.
    pub(crate) async fn upload(&self, is_repeatable: bool) -> Result<u16, HomeError> {
        let forwarding = Forwarding {
            is_repeatable,
            ..Forwarding::default()
        };
        let parts = stream::iter(["Well, ", "yes."]).map(|part| Ok(part.into()));
        let request = Request::post("/api/files").body(SentBody::Streamed(parts.boxed()));
        let sent = self
            .home
            .send(request.expect("a request"), Some(forwarding));
        sent.await.map(|response| response.status().as_u16())
    }

    /// Sends a request of the node itself.
    pub(crate) async fn send_own(&self) -> Result<Response<HomeBody>, HomeError> {
        let request = post("/region/signals");
        self.home.send(request, None).await
    }
}

fn post(path: &str) -> Request<SentBody> {
    let request = Request::post(path).body(Bytes::from_static(b"{}").into());
    request.expect("a request")
}
