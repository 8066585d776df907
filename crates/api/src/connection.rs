//! A client's connection, with the deadlines that the HTTP library does not keep.
//!
//! The library times the head of a connection's first request only: on a connection that is kept
//! alive, a client could send the next head byte by byte for ever. And it waits without end for a
//! client that does not read its answer.

use std::{
    cell::Cell,
    future::poll_fn,
    io::{self, IoSlice},
    pin::Pin,
    rc::Rc,
    task::{Context, Poll, Waker},
    time::Duration,
};

use actix_web::HttpRequest;
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
    time::{Instant, Sleep},
};

/// From its first byte to its last, a request's head may take so long.
pub const HEAD_DEADLINE: Duration = Duration::from_secs(5);
/// A client that has to be waited for must take [`LEAST_TAKEN`] in this time.
const STALL_DEADLINE: Duration = Duration::from_secs(30);
/// About half a kilobyte a second: the slowest of radios is faster.
const LEAST_TAKEN: usize = 16 * 1024;
/// A client that was sent its last bytes must take them in this time.
const PARTING_DEADLINE: Duration = Duration::from_secs(2);

/// What a connection is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Doing {
    /// It is new: the library times its first head.
    First,
    /// A request is being answered, or the connection was handed over to another protocol.
    Serving,
    /// It waits for the next request.
    Waiting,
    /// It has been written its last bytes.
    Parting,
    /// Both sides have said that they are done.
    Done,
}

/// Tells a connection what its requests are doing: connection and requests share it.
#[derive(Clone)]
pub struct Progress(Rc<Shared>);

struct Shared {
    doing: Cell<Doing>,
    /// How many requests have begun: a request may be answered between two reads.
    begun: Cell<u64>,
    /// Whether the client has closed its side.
    is_left: Cell<bool>,
    /// Who waits for that.
    waiting: Cell<Option<Waker>>,
}

impl Progress {
    /// That of a request's connection.
    pub fn of(request: &HttpRequest) -> Self {
        let progress = request.conn_data::<Self>().cloned();
        progress.unwrap_or_else(Self::new)
    }

    fn new() -> Self {
        Self(Rc::new(Shared {
            doing: Cell::new(Doing::First),
            begun: Cell::new(0),
            is_left: Cell::new(false),
            waiting: Cell::new(None),
        }))
    }

    /// Notes that a request's head is complete.
    pub fn begin(&self) {
        self.0.doing.set(Doing::Serving);
        self.0.begun.set(self.0.begun.get() + 1);
    }

    /// Waits until the client has closed its side. It may still read, so an answer is not cut for
    /// that; but a stream without end is for clients that stay, and nobody else would ever end it.
    pub fn left(&self) -> impl Future<Output = ()> + use<> {
        let shared = Rc::clone(&self.0);
        poll_fn(move |context| {
            if shared.is_left.get() {
                return Poll::Ready(());
            }
            shared.waiting.set(Some(context.waker().clone()));
            Poll::Pending
        })
    }

    /// Notes that nothing more comes from the client.
    fn leave(&self) {
        self.0.is_left.set(true);
        if let Some(waiting) = self.0.waiting.take() {
            waiting.wake();
        }
    }

    /// Notes that a request is answered, and the next one may come.
    pub fn end(&self) {
        self.0.doing.set(Doing::Waiting);
    }

    /// Notes that nothing more is written behind what waits now: a client that does not take that
    /// soon is left.
    pub fn part(&self) {
        self.0.doing.set(Doing::Parting);
    }

    /// Notes that the client is done, too: nothing more is read of it. The connection finds that
    /// out when it is woken the next time.
    pub fn hang_up(&self) {
        self.0.doing.set(Doing::Done);
    }
}

/// A client's connection.
pub struct Connection<S = TcpStream> {
    stream: S,
    progress: Progress,
    head: Deadline,
    /// How many requests had begun when the deadline of the head was last looked at.
    begun: u64,
    stall: Deadline,
    /// Bytes that the client took since it had to be waited for.
    taken: usize,
}

impl<S> Connection<S> {
    /// A connection that was just accepted.
    pub fn new(stream: S) -> Self {
        Self {
            stream,
            progress: Progress::new(),
            head: Deadline::default(),
            begun: 0,
            stall: Deadline::default(),
            taken: 0,
        }
    }

    /// What its requests tell it.
    pub fn progress(&self) -> Progress {
        self.progress.clone()
    }
}

/// A time by which something must have happened. Its timer is made once and then moved, since
/// moving one further away costs next to nothing.
#[derive(Default)]
struct Deadline {
    timer: Option<Pin<Box<Sleep>>>,
    is_set: bool,
    /// Whether it is not moved any more.
    is_final: bool,
}

impl Deadline {
    fn set(&mut self, within: Duration) {
        if self.is_set {
            return;
        }
        self.is_set = true;
        let at = Instant::now() + within;
        match &mut self.timer {
            Some(timer) => timer.as_mut().reset(at),
            None => self.timer = Some(Box::pin(tokio::time::sleep_until(at))),
        }
    }

    fn clear(&mut self) {
        self.is_set = false;
    }

    /// Brings it forward.
    fn set_once(&mut self, within: Duration) {
        if self.is_final {
            return;
        }
        self.is_final = true;
        self.clear();
        self.set(within);
    }

    /// Whether it has passed; if not, the task is woken when it does.
    fn has_passed(&mut self, context: &mut Context<'_>) -> bool {
        self.is_set
            && self
                .timer
                .as_mut()
                .is_some_and(|timer| timer.as_mut().poll(context).is_ready())
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Connection<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.progress.0.doing.get() == Doing::Done {
            return Poll::Ready(Ok(()));
        }
        let before = buffer.filled().len();
        let is_room = buffer.remaining() > 0;
        let polled = Pin::new(&mut self.stream).poll_read(context, buffer);
        if is_room && matches!(polled, Poll::Ready(Ok(()))) && buffer.filled().len() == before {
            self.progress.leave();
        }
        let begun = self.progress.0.begun.get();
        if begun != self.begun {
            self.begun = begun;
            self.head.clear();
        }
        if self.progress.0.doing.get() != Doing::Waiting {
            return polled;
        }
        if buffer.filled().len() > before {
            self.head.set(HEAD_DEADLINE);
        }
        if self.head.has_passed(context) {
            return Poll::Ready(Err(late("the next request's head did not arrive in time")));
        }
        polled
    }
}

impl<S: AsyncWrite + Unpin> Connection<S> {
    fn watch_write(
        &mut self,
        context: &mut Context<'_>,
        polled: Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        if let Poll::Ready(written) = &polled {
            self.taken += written.as_ref().copied().unwrap_or(0);
            if self.taken >= LEAST_TAKEN {
                self.catch_up();
            }
            return polled;
        }
        if self.is_parting() {
            self.stall.set_once(PARTING_DEADLINE);
        } else {
            self.stall.set(STALL_DEADLINE);
        }
        if self.stall.has_passed(context) {
            return Poll::Ready(Err(late("the client does not read its answer")));
        }
        Poll::Pending
    }

    /// The client has taken enough, or all there is.
    fn catch_up(&mut self) {
        if !self.stall.is_final {
            self.stall.clear();
        }
        self.taken = 0;
    }

    fn is_parting(&self) -> bool {
        matches!(self.progress.0.doing.get(), Doing::Parting | Doing::Done)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Connection<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.watch_write(context, polled)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.stream).poll_write_vectored(context, slices);
        self.watch_write(context, polled)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        // It is called when all is written.
        self.catch_up();
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

fn late(why: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::TimedOut, why)
}

#[cfg(test)]
mod tests {
    use std::pin::pin;

    use futures::FutureExt as _;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream, duplex};

    use super::*;

    fn connected(buffer: usize) -> (Connection<DuplexStream>, DuplexStream) {
        let (server, client) = duplex(buffer);
        (Connection::new(server), client)
    }

    #[tokio::test(start_paused = true)]
    async fn a_kept_connection_may_rest_but_not_dawdle() {
        let (mut connection, mut client) = connected(64);
        connection.progress().end();
        let mut buffer = [0; 64];
        let resting = tokio::time::timeout(Duration::from_mins(1), connection.read(&mut buffer));
        assert!(resting.await.is_err(), "nothing was sent, nothing is late");
        client.write_all(b"GET").await.unwrap();
        assert_eq!(connection.read(&mut buffer).await.unwrap(), 3);
        let started = Instant::now();
        let error = connection.read(&mut buffer).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        assert_eq!(started.elapsed().as_secs(), HEAD_DEADLINE.as_secs());
    }

    #[tokio::test(start_paused = true)]
    async fn each_head_has_its_own_time() {
        let (mut connection, mut client) = connected(64);
        let progress = connection.progress();
        let mut buffer = [0; 64];
        for _ in 0..3 {
            progress.end();
            client.write_all(b"GET").await.unwrap();
            assert_eq!(connection.read(&mut buffer).await.unwrap(), 3);
            tokio::time::advance(Duration::from_secs(4)).await;
            progress.begin();
            // Body bytes take their own time, under a deadline of their own.
            client.write_all(b"body").await.unwrap();
            assert_eq!(connection.read(&mut buffer).await.unwrap(), 4);
            tokio::time::advance(Duration::from_secs(10)).await;
        }
    }

    #[tokio::test(start_paused = true)]
    async fn each_head_has_its_own_time_also_where_nothing_is_read_between() {
        let (mut connection, mut client) = connected(64);
        let progress = connection.progress();
        let mut buffer = [0; 64];
        for _ in 0..3 {
            progress.end();
            client.write_all(b"GET").await.unwrap();
            assert_eq!(connection.read(&mut buffer).await.unwrap(), 3);
            progress.begin();
            tokio::time::advance(Duration::from_secs(4)).await;
        }
    }

    #[tokio::test]
    async fn is_told_when_the_client_closes_its_side() {
        let (mut connection, mut client) = connected(64);
        let left = connection.progress().left();
        client.write_all(b"GET").await.unwrap();
        let mut buffer = [0; 64];
        assert_eq!(connection.read(&mut buffer).await.unwrap(), 3);
        let mut left = pin!(left);
        assert_eq!(left.as_mut().now_or_never(), None);
        client.shutdown().await.unwrap();
        let reading = async { connection.read(&mut buffer).await.unwrap() };
        assert_eq!(tokio::join!(left, reading), ((), 0));
    }

    #[tokio::test(start_paused = true)]
    async fn who_does_not_read_is_left() {
        let (mut connection, client) = connected(4);
        let started = Instant::now();
        let error = connection.write_all(b"a long answer").await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        assert_eq!(started.elapsed().as_secs(), STALL_DEADLINE.as_secs());
        drop(client);
    }

    #[tokio::test(start_paused = true)]
    async fn who_sips_is_left_too() {
        let (mut connection, mut client) = connected(4);
        let sipping = async {
            while client.read_u8().await.is_ok() {
                tokio::time::sleep(Duration::from_secs(5)).await;
            }
        };
        let writing = async move {
            let started = Instant::now();
            let error = connection.write_all(&[b'x'; 1_000]).await.unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::TimedOut);
            assert!(started.elapsed() < STALL_DEADLINE + Duration::from_secs(6));
        };
        tokio::join!(sipping, writing);
    }

    #[tokio::test(start_paused = true)]
    async fn who_does_not_read_the_last_bytes_is_left_soon() {
        let (mut connection, client) = connected(4);
        let progress = connection.progress();
        let started = Instant::now();
        let parting = async {
            tokio::time::sleep(Duration::from_secs(20)).await;
            progress.part();
            started.elapsed()
        };
        let writing = async {
            // The task looks again whenever something happens in it.
            let mut ticks = tokio::time::interval(Duration::from_millis(100));
            let mut writing = pin!(connection.write_all(b"a long answer"));
            loop {
                tokio::select! {
                    outcome = &mut writing => break (outcome.unwrap_err(), started.elapsed()),
                    _ = ticks.tick() => {}
                }
            }
        };
        let (parted, (error, left)) = tokio::join!(parting, writing);
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        let waited = left.saturating_sub(parted);
        let soon = PARTING_DEADLINE..PARTING_DEADLINE + Duration::from_millis(200);
        assert!(soon.contains(&waited), "{waited:?}");
        drop(client);
    }

    #[tokio::test(start_paused = true)]
    async fn who_is_done_is_not_read_any_more() {
        let (mut connection, mut client) = connected(4);
        client.write_all(b"more").await.unwrap();
        connection.progress().hang_up();
        let mut buffer = [0; 4];
        assert_eq!(connection.read(&mut buffer).await.unwrap(), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn who_reads_a_stream_as_it_comes_is_kept() {
        let (mut connection, mut client) = connected(4);
        let mut read = Vec::new();
        let reading = client.read_to_end(&mut read);
        let writing = async move {
            for _ in 0..100 {
                connection.write_all(b"an event").await.unwrap();
                connection.flush().await.unwrap();
                tokio::time::sleep(Duration::from_secs(20)).await;
            }
        };
        let (count, ()) = tokio::join!(reading, writing);
        assert_eq!(count.unwrap(), 800);
    }
}
