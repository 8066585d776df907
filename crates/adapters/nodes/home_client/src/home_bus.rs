//! The event bus of a far node, whose other nodes are in the home region.

use std::{sync::Arc, time::Duration};

use bytes::{Bytes, BytesMut};
use domain::RegionEntry;
use futures::{StreamExt as _, stream::BoxStream};
use http::{Request, StatusCode, header::CONTENT_LENGTH};
use parking_lot::RwLock;
use ports::{BoxError, EventBus, EventLog, HomeError, Signal, SignalFilter};
use single_node::bus::{Backoff, Inbox, LocalBus, Message, MessageWriter, Outbox};
use tokio::time::{Instant, sleep_until, timeout};
use tokio_util::{
    sync::{CancellationToken, DropGuard},
    task::TaskTracker,
};
use uuid::Uuid;

use crate::{
    HomeClient,
    presence::{self, FarProcess},
    replay_gate::ReplayGate,
    wire::{HomeReport, Notice, SIGNALS_PATH, STREAM_PATH, is_sent_home},
};

/// The time without a line after which the stream is opened again. The home region reports every
/// second.
const SILENCE: Duration = Duration::from_secs(3);
/// The shortest time between two messages to the home region.
const SEND_INTERVAL: Duration = Duration::from_millis(20);
/// The maximum length of a message, in bytes.
const MAX_MESSAGE_BYTES: usize = 256 * 1024;
/// The maximum length of a line from the home region, in bytes.
const MAX_LINE_BYTES: usize = 8 * 1024 * 1024;

/// The event bus of a far node. It holds one stream from the home region, by which signals arrive,
/// and sends requests for live replies and typing indicators to it.
pub struct HomeBus {
    local: Arc<LocalBus>,
    outbox: Arc<Outbox>,
    _tasks: DropGuard,
}

impl HomeBus {
    /// Starts the tasks of the bus. `events` is the log of the replica, and `regions` the list that the
    /// reports of the home region replace. The tasks also end with `stop`.
    pub fn start(
        home: &Arc<HomeClient>,
        events: Arc<dyn EventLog>,
        process: &FarProcess,
        regions: Arc<RwLock<Vec<RegionEntry>>>,
        tasks: &TaskTracker,
        stop: &CancellationToken,
    ) -> Self {
        let &FarProcess { id, version, store } = process;
        let (local, arriving) = (Arc::new(LocalBus::new()), Arc::new(LocalBus::new()));
        let outbox = Arc::new(Outbox::default());
        let stop = stop.child_token();
        let gate = ReplayGate::new(events, Arc::downgrade(&local));
        let gate = gate.run(arriving.subscribe(Box::new(|_| true)));
        let receiver = Receiver {
            home: Arc::clone(home),
            process: id,
            store,
            is_other_store: false,
            inbox: Inbox::new(id, Arc::downgrade(&arriving)),
            _arriving: arriving,
            regions,
        };
        let sender = Sender {
            home: Arc::clone(home),
            path: format!("{SIGNALS_PATH}?process={id}"),
            writer: MessageWriter::new(id, MAX_MESSAGE_BYTES),
            outbox: Arc::clone(&outbox),
        };
        tasks.spawn(stop.clone().run_until_cancelled_owned(gate));
        tasks.spawn(stop.clone().run_until_cancelled_owned(receiver.run()));
        tasks.spawn(stop.clone().run_until_cancelled_owned(sender.run()));
        let reports = presence::report(Arc::clone(home), id, version);
        tasks.spawn(stop.clone().run_until_cancelled_owned(reports));
        Self {
            local,
            outbox,
            _tasks: stop.drop_guard(),
        }
    }
}

impl EventBus for HomeBus {
    fn publish(&self, signal: Signal) {
        if is_sent_home(&signal) {
            self.outbox.push(&signal);
        }
        self.local.publish(signal);
    }

    fn subscribe(&self, filter: SignalFilter) -> BoxStream<'static, Signal> {
        self.local.subscribe(filter)
    }
}

/// Sends the signals of the outbox.
struct Sender {
    home: Arc<HomeClient>,
    path: String,
    writer: MessageWriter,
    outbox: Arc<Outbox>,
}

impl Sender {
    async fn run(mut self) {
        loop {
            self.outbox.filled().await;
            let sent_at = Instant::now();
            let signals = self.outbox.take();
            for message in self.writer.write(&signals) {
                if let Err(error) = self.send(message).await {
                    // Readers repeat their requests, and typing indicators are soon outdated.
                    let error = ports::error::one_line(&error);
                    tracing::debug!(error, "signals for the home region are lost");
                    break;
                }
            }
            sleep_until(sent_at + SEND_INTERVAL).await;
        }
    }

    async fn send(&self, message: String) -> Result<(), HomeError> {
        let request = Request::post(&self.path).body(message.into());
        let status = self.home.send_own(request).await?.status();
        if !status.is_success() {
            let status = status.as_u16();
            tracing::debug!(status, "the home region has rejected signals");
        }
        Ok(())
    }
}

/// Receives the stream of the home region.
struct Receiver {
    home: Arc<HomeClient>,
    process: Uuid,
    /// The id of the store that the replica is a copy of.
    store: Uuid,
    /// True after a report about another store.
    is_other_store: bool,
    inbox: Inbox,
    /// Held, because the inbox does not keep it.
    _arriving: Arc<LocalBus>,
    regions: Arc<RwLock<Vec<RegionEntry>>>,
}

impl Receiver {
    async fn run(mut self) {
        let mut backoff = Backoff::new();
        loop {
            self.home.connected().await;
            let ended = self.receive(&mut backoff).await;
            self.home.set_stream_open(false);
            if let Err(error) = ended {
                let error = ports::error::with_causes(&*error);
                tracing::debug!(
                    error,
                    "no signals from the home region; reopening the stream"
                );
            }
            backoff.pause().await;
        }
    }

    /// Receives signals until the stream ends.
    async fn receive(&mut self, backoff: &mut Backoff) -> Result<(), BoxError> {
        let path = format!("{STREAM_PATH}?process={}", self.process);
        let request = Request::get(path).header(CONTENT_LENGTH, 0);
        let response = self.home.send_own(request.body(Bytes::new())).await;
        if let Err(HomeError::Lost(_)) = &response {
            // Otherwise requests of clients would wait for this node.
            self.home.replace_silent_connection();
        }
        let response = response?;
        if response.status() != StatusCode::OK {
            let status = response.status().as_u16();
            return Err(format!("the home region has responded with status {status}").into());
        }
        self.home.set_stream_open(true);
        // Signals may have been sent before this stream.
        self.inbox.reset();
        let closed = |_closed| "the bus is closed";
        self.inbox.report_loss().map_err(closed)?;
        let (mut body, mut unread) = (response.into_body(), BytesMut::new());
        while let Some(chunk) = timeout(SILENCE, body.next()).await? {
            unread.extend_from_slice(&chunk?);
            while let Some(end) = unread.iter().position(|byte| *byte == b'\n') {
                let line = unread.split_to(end + 1);
                self.read(&line).map_err(closed)?;
                backoff.reset();
            }
            if unread.len() > MAX_LINE_BYTES {
                return Err("a line is too long".into());
            }
        }
        Ok(())
    }

    fn read(&mut self, line: &[u8]) -> Result<(), single_node::bus::Closed> {
        let text = String::from_utf8_lossy(line);
        if let Ok(report) = serde_json::from_str::<HomeReport>(&text) {
            if self.is_about_other_store(&report) {
                // Without a report this node accepts no credential.
                return Ok(());
            }
            self.home.record_report(report.access_version);
            if !report.regions.is_empty() {
                *self.regions.write() = report.regions;
            }
            return Ok(());
        }
        if let Ok(notice) = serde_json::from_str(&text) {
            match notice {
                Notice::SignalsLost => self.inbox.report_loss()?,
                Notice::Closing => self.home.replace_connection(),
            }
            return Ok(());
        }
        Message::read(&text).map_or(Ok(()), |message| self.inbox.receive(message))
    }

    /// Returns true if the replica is not one of the home region's store, and logs it once.
    fn is_about_other_store(&mut self, report: &HomeReport) -> bool {
        let was_other = self.is_other_store;
        self.is_other_store = report.store.is_some_and(|store| store != self.store);
        if self.is_other_store && !was_other {
            tracing::error!(
                "the replica belongs to another store than the home region; set DATABASE_URL to a \
                 replica of the home region's"
            );
        }
        self.is_other_store
    }
}
