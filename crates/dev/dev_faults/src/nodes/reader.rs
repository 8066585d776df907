//! Clients that follow all events over sockets, and resume when these are lost.

use std::{collections::BTreeMap, time::Duration};

use anyhow::{Context as _, Result};
use dev_load::{
    Endpoint,
    client_view::ClientView,
    socket::{self, Frame},
};
use serde_json::Value;
use tokio::{
    sync::watch,
    task::JoinSet,
    time::{Instant, sleep, timeout},
};

use crate::report::Report;

/// The pause before a socket is opened again.
const PAUSE: Duration = Duration::from_millis(100);
/// The longest until a client has all events, once the last is known.
const CATCH_UP: Duration = Duration::from_secs(20);

/// The data that a client has received.
#[derive(Default)]
pub(super) struct Reader {
    pub(super) view: ClientView,
    /// The times from the loss of a socket until the next one had caught up.
    pub(super) resumed: Vec<Duration>,
    /// The arrival of each event.
    pub(super) arrivals: BTreeMap<i64, Instant>,
    lost_at: Option<Instant>,
    has_caught_up: bool,
}

/// Clients that read until they are told the last event.
pub(super) struct Readers {
    tasks: JoinSet<Result<Reader>>,
    last: watch::Sender<Option<i64>>,
}

impl Readers {
    /// Starts one client for each endpoint, and waits until each has caught up.
    pub(super) async fn start(endpoints: Vec<Endpoint>) -> Result<Self> {
        let (last, _) = watch::channel(None);
        let (caught_up, mut ready) = watch::channel(0);
        let (mut tasks, number) = (JoinSet::new(), endpoints.len());
        for endpoint in endpoints {
            tasks.spawn(read(endpoint, last.subscribe(), caught_up.clone()));
        }
        let all = ready.wait_for(|readers| *readers >= number);
        let all = timeout(CATCH_UP, all).await;
        all.context("the readers do not catch up")?
            .context("no readers")?;
        Ok(Self { tasks, last })
    }

    /// Tells all clients the last event, and returns what each has received, in any order.
    pub(super) async fn end(mut self, last: i64, report: &mut Report) -> Result<Vec<Reader>> {
        self.last.send_replace(Some(last));
        report.expect_no(&["not once and in order", "events missing"]);
        let mut readers = Vec::new();
        while let Some(ended) = self.tasks.join_next().await {
            let mut reader = ended.context("a reader's task panicked")??;
            let violations = std::mem::take(&mut reader.view.violations);
            report.record_losses("not once and in order", violations);
            if reader.view.cursor < last {
                let cursor = reader.view.cursor;
                report.record_loss("events missing", || format!("{cursor} of {last} events"));
            }
            report.count("sockets lost", reader.view.sockets_lost);
            readers.push(reader);
        }
        Ok(readers)
    }
}

/// Reads all events with one socket after the other.
async fn read(
    endpoint: Endpoint,
    last: watch::Receiver<Option<i64>>,
    caught_up: watch::Sender<usize>,
) -> Result<Reader> {
    let (mut reader, mut is_new) = (Reader::default(), true);
    let mut deadline = None;
    while !reader.is_over(*last.borrow(), &mut deadline) {
        let Ok(mut socket) = reader.view.connect(&endpoint).await else {
            sleep(PAUSE).await;
            continue;
        };
        while !reader.is_over(*last.borrow(), &mut deadline) {
            match timeout(PAUSE, socket.next()).await {
                Ok(Ok(Frame::Text(frame))) => {
                    let frame = socket::json(&frame)?;
                    if is_rejection(&frame) {
                        break;
                    }
                    reader.apply(&frame);
                }
                Ok(end) => {
                    end?;
                    reader.view.sockets_lost += 1;
                    reader.lost_at.get_or_insert_with(Instant::now);
                    break;
                }
                Err(_no_frame) => {}
            }
            if reader.has_caught_up && std::mem::take(&mut is_new) {
                caught_up.send_modify(|readers| *readers += 1);
            }
        }
    }
    Ok(reader)
}

/// Returns true if the node cannot serve a socket now.
fn is_rejection(frame: &Value) -> bool {
    frame["type"] == "reply" && frame["error"]["retryable"] == true
}

impl Reader {
    fn apply(&mut self, frame: &Value) {
        self.view.apply(frame);
        match frame["type"].as_str() {
            Some("event") => {
                self.arrivals
                    .entry(self.view.cursor)
                    .or_insert_with(Instant::now);
            }
            Some("caughtUp") => {
                self.has_caught_up = true;
                self.resumed
                    .extend(self.lost_at.take().map(|lost_at| lost_at.elapsed()));
            }
            _ => {}
        }
    }

    /// Returns true if all events were received, or do not arrive.
    fn is_over(&self, last: Option<i64>, deadline: &mut Option<Instant>) -> bool {
        last.is_some_and(|last| {
            let deadline = deadline.get_or_insert_with(|| Instant::now() + CATCH_UP);
            self.view.cursor >= last || Instant::now() > *deadline
        })
    }
}
