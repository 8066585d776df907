//! The body of a streamed response, without a wake of its reader for each piece.
//!
//! The HTTP client hands over one chunk, and then waits until it is taken. A task of its own takes
//! them, because each turn of the reader, with the tasks and connections behind it, costs far more
//! than a chunk.

use std::{mem, sync::Arc, time::Duration};

use parking_lot::Mutex;
use reqwest::Response;
use tokio::{
    sync::Notify,
    time::{Instant, sleep_until},
};
use tokio_util::task::{AbortOnDropHandle, TaskTracker};

/// The minimum time between two wakes of the reader. Models send pieces faster than clients need them.
const INTERVAL: Duration = Duration::from_millis(1);
/// The number of bytes that wait for the reader at most, except for one chunk.
const MAX_WAITING_BYTES: usize = 64 * 1024;

/// The body of a response. Dropping it closes the connection.
pub(crate) struct PacedBody {
    shared: Arc<Shared>,
    _task: AbortOnDropHandle<()>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    /// Notified when the reader should continue.
    arrived: Notify,
    /// Notified when the reader has taken everything.
    taken: Notify,
}

#[derive(Default)]
struct State {
    waiting: Vec<u8>,
    /// `None` before the end of the body.
    end: Option<Result<(), reqwest::Error>>,
    is_paced: bool,
}

impl PacedBody {
    /// Starts to read the body of a response, on the current runtime.
    pub(crate) fn start(response: Response, tasks: &TaskTracker) -> Self {
        let shared = Arc::<Shared>::default();
        let task = BodyTask {
            shared: Arc::clone(&shared),
            woken_at: Instant::now(),
        };
        Self {
            shared,
            _task: AbortOnDropHandle::new(tasks.spawn(task.run(response))),
        }
    }

    /// From now on, what arrives within a millisecond is returned together.
    pub(crate) fn pace(&self) {
        self.shared.state.lock().is_paced = true;
    }

    /// Returns everything that has arrived, as soon as there is something; `None` at the end. Cancel
    /// safe.
    pub(crate) async fn next(&self) -> Result<Option<Vec<u8>>, reqwest::Error> {
        loop {
            let arrived = self.shared.arrived.notified();
            {
                let mut state = self.shared.state.lock();
                if !state.waiting.is_empty() {
                    let taken = mem::take(&mut state.waiting);
                    self.shared.taken.notify_one();
                    return Ok(Some(taken));
                }
                if let Some(end) = &mut state.end {
                    return mem::replace(end, Ok(())).map(|()| None);
                }
            }
            arrived.await;
        }
    }
}

/// The task that takes the chunks of a body.
struct BodyTask {
    shared: Arc<Shared>,
    /// The time at which the reader was last woken.
    woken_at: Instant,
}

impl BodyTask {
    async fn run(mut self, mut response: Response) {
        let end = self.take_chunks(&mut response).await;
        self.shared.state.lock().end = Some(end);
        self.wake();
    }

    async fn take_chunks(&mut self, response: &mut Response) -> Result<(), reqwest::Error> {
        let timer = sleep_until(self.woken_at);
        tokio::pin!(timer);
        let mut is_due = false;
        loop {
            let chunk = tokio::select! {
                // A chunk that is there costs less than a look at the timer, and leads to a wake itself if
                // it is time.
                biased;
                chunk = response.chunk() => chunk?,
                () = &mut timer, if is_due => {
                    is_due = false;
                    self.wake();
                    continue;
                }
            };
            let Some(chunk) = chunk else {
                return Ok(());
            };
            let is_paced = self.add(&chunk).await;
            if !is_paced || self.woken_at.elapsed() >= INTERVAL {
                is_due = false;
                self.wake();
            } else if !is_due {
                is_due = true;
                timer.as_mut().reset(self.woken_at + INTERVAL);
            }
        }
    }

    /// Adds a chunk, waits until there is room for the next, and returns whether the reader waits for
    /// others.
    async fn add(&mut self, chunk: &[u8]) -> bool {
        let (mut is_full, is_paced) = {
            let mut state = self.shared.state.lock();
            state.waiting.extend_from_slice(chunk);
            (state.waiting.len() >= MAX_WAITING_BYTES, state.is_paced)
        };
        while is_full {
            self.wake();
            self.shared.taken.notified().await;
            is_full = self.shared.state.lock().waiting.len() >= MAX_WAITING_BYTES;
        }
        is_paced
    }

    fn wake(&mut self) {
        self.woken_at = Instant::now();
        self.shared.arrived.notify_one();
    }
}

#[cfg(test)]
mod tests;
