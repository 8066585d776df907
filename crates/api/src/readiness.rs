//! Whether this process can do its work, and asking another one.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use domain::ProblemCode;
use ports::Maintenance;
use tokio::sync::Mutex;

/// How long the store may take to give a sign of life.
const PATIENCE: Duration = Duration::from_secs(1);
/// How long an answer is good for.
const CACHED: Duration = Duration::from_secs(1);

/// Whether this process can do its work.
pub struct Readiness {
    store: Arc<dyn Maintenance>,
    draining: AtomicBool,
    last: Mutex<Option<(Instant, bool)>>,
}

impl Readiness {
    /// Readiness of a process beside this store.
    pub fn new(store: Arc<dyn Maintenance>) -> Self {
        Self {
            store,
            draining: AtomicBool::new(false),
            last: Mutex::new(None),
        }
    }

    /// From now on the process takes no new work.
    pub fn drain(&self) {
        self.draining.store(true, Ordering::Release);
    }

    /// Whether the process takes no new work.
    pub fn is_draining(&self) -> bool {
        self.draining.load(Ordering::Acquire)
    }

    /// Asks the store, or remembers what it answered a moment ago.
    pub async fn check(&self) -> Result<(), ProblemCode> {
        if self.is_draining() {
            return Err(ProblemCode::Draining);
        }
        let mut last = self.last.lock().await;
        let alive = match *last {
            Some((at, alive)) if at.elapsed() < CACHED => alive,
            _ => {
                let answer = tokio::time::timeout(PATIENCE, self.store.ping()).await;
                let alive = matches!(answer, Ok(Ok(())));
                *last = Some((Instant::now(), alive));
                alive
            }
        };
        if alive {
            Ok(())
        } else {
            Err(ProblemCode::StoreUnavailable)
        }
    }
}

/// Asks a running service whether it is ready; answers the status. HTTP by hand: a check that
/// runs every few seconds in a container should not carry a client's weight.
pub async fn ask(url: &str) -> anyhow::Result<u16> {
    use anyhow::Context as _;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    let authority = url
        .strip_prefix("http://")
        .context("the URL must begin with http://")?
        .trim_end_matches('/');
    let address = if authority.contains(':') {
        authority.to_owned()
    } else {
        format!("{authority}:80")
    };
    let mut stream = tokio::net::TcpStream::connect(address).await?;
    let request = format!("GET /readyz HTTP/1.1\r\nHost: {authority}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    let mut answer = Vec::new();
    stream.take(4096).read_to_end(&mut answer).await?;
    let answer = String::from_utf8_lossy(&answer);
    let status = answer.split(' ').nth(1).context("no HTTP answer")?;
    Ok(status.parse()?)
}
