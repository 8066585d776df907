//! Where an upstream listens.

use std::{
    io,
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
        mpsc,
    },
    thread,
};

use anyhow::{Context as _, Result};
use tokio::{
    net::{TcpListener, TcpSocket},
    sync::oneshot,
    task::JoinSet,
};

use super::{
    connection::{EVENTS, JSON, serve, sized},
    manner::Manner,
    words,
};
use crate::rig::load::runtime;

/// Connections that may wait until they are taken.
const BACKLOG: u32 = 1_024;

/// A running upstream. Dropping it ends it and its connections.
pub(crate) struct Upstream {
    pub(crate) address: SocketAddr,
    state: Arc<State>,
    _end: oneshot::Sender<()>,
}

/// What all connections share.
pub(super) struct State {
    pub(super) open: AtomicUsize,
    pub(super) busy: AtomicUsize,
    pub(super) asked: AtomicUsize,
    pub(super) is_mended: AtomicBool,
    /// The answers that are given most, once and for all.
    pub(super) streamed: String,
    pub(super) whole: String,
}

impl Upstream {
    /// Listens on a port of its own.
    pub(crate) fn start() -> Result<Self> {
        Self::start_on(Self::reserve()?)
    }

    /// A port on which nobody listens yet, and that nobody else is given.
    pub(crate) fn reserve() -> Result<TcpSocket> {
        let reserve = || {
            let socket = TcpSocket::new_v4()?;
            socket.bind(([127, 0, 0, 1], 0).into())?;
            io::Result::Ok(socket)
        };
        reserve().context("there is no port for an upstream")
    }

    /// Listens there.
    pub(crate) fn start_on(socket: TcpSocket) -> Result<Self> {
        let address = socket.local_addr();
        let address = address.context("an upstream has no address")?;
        let state = Arc::new(State {
            open: AtomicUsize::new(0),
            busy: AtomicUsize::new(0),
            asked: AtomicUsize::new(0),
            is_mended: AtomicBool::new(false),
            streamed: sized("200 OK", "", EVENTS, &words::streamed()),
            whole: sized("200 OK", "", JSON, &words::whole()),
        });
        let (end, ended) = oneshot::channel();
        let (listens, listening) = mpsc::channel();
        let shared = Arc::clone(&state);
        thread::spawn(move || {
            let served = runtime()
                .and_then(|runtime| runtime.block_on(serving(socket, shared, &listens, ended)));
            if let Err(error) = served {
                // Whoever started it waits for this, unless it listens already.
                let _ = listens.send(Err(error));
            }
        });
        let listening = listening.recv().context("an upstream has ended")?;
        listening.context("an upstream cannot listen")?;
        Ok(Self {
            address,
            state,
            _end: end,
        })
    }

    /// What an engine is told to have its answers in this manner.
    pub(crate) fn base_url(&self, manner: Manner) -> String {
        format!("http://{}/{}/v1", self.address, manner.name())
    }

    /// Answers at once from now on, whatever the manner.
    pub(crate) fn mend(&self) {
        self.state.is_mended.store(true, Ordering::SeqCst);
    }

    /// Connections that are open.
    pub(crate) fn open(&self) -> usize {
        self.state.open.load(Ordering::SeqCst)
    }

    /// Connections on which an answer is waited for.
    pub(crate) fn busy(&self) -> usize {
        self.state.busy.load(Ordering::SeqCst)
    }

    /// How often it was asked.
    pub(crate) fn asked(&self) -> usize {
        self.state.asked.load(Ordering::SeqCst)
    }
}

/// Listens, says so, and serves until it is to end.
async fn serving(
    socket: TcpSocket,
    state: Arc<State>,
    listens: &mpsc::Sender<Result<()>>,
    ended: oneshot::Receiver<()>,
) -> Result<()> {
    let listener = socket.listen(BACKLOG)?;
    listens.send(Ok(()))?;
    tokio::select! {
        () = accept(listener, state) => {}
        _ = ended => {}
    }
    Ok(())
}

async fn accept(listener: TcpListener, state: Arc<State>) {
    let mut connections = JoinSet::new();
    loop {
        // What keeps it from taking one connection need not keep it from taking the next.
        if let Ok((stream, _)) = listener.accept().await {
            // How a connection ends is nobody's business but the client's.
            connections.spawn(serve(stream, Arc::clone(&state)));
            while connections.try_join_next().is_some() {}
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::{
        rig::http::{Broken, Incoming, ask},
        upstream::Marks,
    };

    const PATIENCE: Duration = Duration::from_secs(30);

    fn request(manner: Manner, is_streamed: bool) -> Vec<u8> {
        let body = format!("{{\"stream\":{is_streamed}}}");
        let (name, length) = (manner.name(), body.len());
        format!(
            "POST /{name}/v1/chat/completions HTTP/1.1\r\nHost: a\r\nContent-Length: {length}\r\n\r\n{body}"
        )
        .into_bytes()
    }

    #[tokio::test]
    async fn answers_at_once_whole_or_as_a_stream() {
        let upstream = Upstream::start().unwrap();
        for is_streamed in [false, true] {
            let request = request(Manner::Instant, is_streamed);
            let response = ask(upstream.address, &request, PATIENCE).await.unwrap();
            let body = String::from_utf8(response.body).unwrap();
            assert!(response.status == 200 && body.contains(words::REPLY));
            assert_eq!(body.starts_with("data: "), is_streamed);
        }
        assert_eq!(upstream.asked(), 2);
    }

    #[tokio::test]
    async fn a_paced_answer_tells_when_it_said_what() {
        let upstream = Upstream::start().unwrap();
        let request = request(Manner::Paced, true);
        let mut incoming = Incoming::open(upstream.address, &request).await.unwrap();
        let (mut marks, mut ages) = (Marks::default(), Vec::new());
        while let Some(part) = incoming.part().await.unwrap() {
            ages.extend(marks.ages(&part));
        }
        assert_eq!(ages.len(), crate::upstream::WORDS);
    }

    #[tokio::test]
    async fn breaks_as_it_is_told_until_it_is_mended() {
        let upstream = Upstream::start().unwrap();
        let status = async |manner| {
            let request = request(manner, true);
            let response = ask(upstream.address, &request, PATIENCE).await;
            response.map(|response| response.status)
        };
        assert_eq!(status(Manner::RateLimited).await, Ok(429));
        assert_eq!(status(Manner::Fails).await, Ok(500));
        assert_eq!(status(Manner::Cut).await, Err(Broken::Cut));
        upstream.mend();
        assert_eq!(status(Manner::Cut).await, Ok(200));
    }

    #[tokio::test]
    async fn notices_that_nobody_waits_any_more() {
        let upstream = Upstream::start().unwrap();
        for manner in [Manner::Hangs, Manner::Drips, Manner::Endless] {
            let request = request(manner, true);
            let patience = Duration::from_millis(200);
            let asked = ask(upstream.address, &request, patience).await;
            assert_eq!(asked.err(), Some(Broken::Late), "{manner:?}");
            while upstream.busy() + upstream.open() > 0 {
                tokio::task::yield_now().await;
            }
        }
    }
}
