//! The home region's end of the streams to far nodes.

use std::{collections::HashMap, sync::Arc, time::Duration};

use bytes::Bytes;
use futures::{
    StreamExt as _,
    stream::{self, BoxStream},
};
use local_bus::{Message, MessageWriter, Outbox};
use parking_lot::Mutex;
use ports::{CredentialRepository, EventBus, FarNodes, RepositoryError, Signal};
use tokio::time::{Instant, Interval, MissedTickBehavior, interval};
use uuid::Uuid;

use crate::wire::{HomeReport, ReportedRegion, is_sent_home};

/// The interval between two reports.
const REPORT_INTERVAL: Duration = Duration::from_secs(1);
/// The maximum length of a message, in bytes.
const MAX_MESSAGE_BYTES: usize = 64 * 1024;
/// The maximum number of signals that are sent together.
const MAX_SIGNALS: usize = 1_024;

/// Exchanges signals with the nodes of far regions.
pub struct FarStreams {
    bus: Arc<dyn EventBus>,
    credentials: Arc<dyn CredentialRepository>,
    regions: Vec<ReportedRegion>,
    nodes: Arc<Mutex<HashMap<Uuid, ConnectedNode>>>,
}

/// A far node with an open stream.
struct ConnectedNode {
    since: Instant,
    /// The signal of this node that is being published, which it does not receive again.
    echo: Option<Signal>,
}

impl FarStreams {
    /// Creates the streams of a home region that reports these `regions`.
    pub fn new(
        bus: Arc<dyn EventBus>,
        credentials: Arc<dyn CredentialRepository>,
        regions: Vec<ReportedRegion>,
    ) -> Self {
        Self {
            bus,
            credentials,
            regions,
            nodes: Arc::default(),
        }
    }

    fn report(&self) -> Reporter {
        Reporter {
            credentials: Arc::clone(&self.credentials),
            regions: self.regions.clone(),
        }
    }
}

impl FarNodes for FarStreams {
    fn open(&self, process: Uuid) -> BoxStream<'static, Bytes> {
        let nodes = Arc::clone(&self.nodes);
        let since = Instant::now();
        let connected = ConnectedNode { since, echo: None };
        nodes.lock().insert(process, connected);
        let known = Arc::clone(&nodes);
        let signals = self.bus.subscribe(Box::new(move |signal| {
            is_for_far_nodes(signal) && !is_echo(&known, process, signal)
        }));
        let mut ticks = interval(REPORT_INTERVAL);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let stream = FarStream {
            signals: signals.ready_chunks(MAX_SIGNALS).boxed(),
            ticks,
            writer: MessageWriter::new(Uuid::nil(), MAX_MESSAGE_BYTES),
            outbox: Outbox::default(),
            reporter: self.report(),
            _connected: Connected {
                nodes,
                process,
                since,
            },
        };
        stream::unfold(stream, |mut stream| async move {
            let lines = stream.next_lines().await?;
            Some((lines, stream))
        })
        .boxed()
    }

    fn receive(&self, process: Uuid, messages: &[u8]) {
        for line in messages.split(|byte| *byte == b'\n') {
            let text = String::from_utf8_lossy(line);
            let Some(message) = Message::read(&text) else {
                continue;
            };
            for signal in message.into_signals().into_iter().filter(is_sent_home) {
                self.set_echo(process, Some(signal.clone()));
                self.bus.publish(signal);
                self.set_echo(process, None);
            }
        }
    }
}

impl FarStreams {
    fn set_echo(&self, process: Uuid, signal: Option<Signal>) {
        if let Some(node) = self.nodes.lock().get_mut(&process) {
            node.echo = signal;
        }
    }
}

/// Returns true for a signal that the node itself has sent, and that is being published.
fn is_echo(nodes: &Mutex<HashMap<Uuid, ConnectedNode>>, process: Uuid, signal: &Signal) -> bool {
    let nodes = nodes.lock();
    let echo = nodes.get(&process).and_then(|node| node.echo.as_ref());
    echo == Some(signal)
}

fn is_for_far_nodes(signal: &Signal) -> bool {
    matches!(
        signal,
        Signal::LogAppended { .. }
            | Signal::Typing { .. }
            | Signal::ReplyPart { .. }
            | Signal::AccessChanged
            | Signal::SignalsLost
    )
}

/// The stream to one far node.
struct FarStream {
    signals: BoxStream<'static, Vec<Signal>>,
    ticks: Interval,
    writer: MessageWriter,
    outbox: Outbox,
    reporter: Reporter,
    _connected: Connected,
}

/// Removes a node from the list when its stream is dropped.
struct Connected {
    nodes: Arc<Mutex<HashMap<Uuid, ConnectedNode>>>,
    process: Uuid,
    since: Instant,
}

impl Drop for Connected {
    fn drop(&mut self) {
        let mut nodes = self.nodes.lock();
        // The node may have opened another stream meanwhile.
        if nodes
            .get(&self.process)
            .is_some_and(|it| it.since == self.since)
        {
            nodes.remove(&self.process);
        }
    }
}

/// Writes reports.
struct Reporter {
    credentials: Arc<dyn CredentialRepository>,
    regions: Vec<ReportedRegion>,
}

impl FarStream {
    /// Returns the next lines. `None` ends the stream: the bus is closed, or signals were lost, of
    /// which the far node learns by the end.
    async fn next_lines(&mut self) -> Option<Bytes> {
        loop {
            let signals = tokio::select! {
                biased;
                _ = self.ticks.tick() => Vec::new(),
                signals = self.signals.next() => signals?,
            };
            if signals.contains(&Signal::SignalsLost) {
                return None;
            }
            let mut lines = String::new();
            if signals.is_empty() || signals.contains(&Signal::AccessChanged) {
                match self.reporter.write().await {
                    Ok(report) => lines.push_str(&report),
                    // The far node notices that no report arrives.
                    Err(error) => {
                        let error = ports::error::one_line(&error);
                        tracing::debug!(error, "no report to a far region");
                    }
                }
            }
            for signal in &signals {
                self.outbox.push(signal);
            }
            if !signals.is_empty() {
                for message in self.writer.write(&self.outbox.take()) {
                    lines.push_str(&message);
                    lines.push('\n');
                }
            }
            if !lines.is_empty() {
                return Some(lines.into());
            }
        }
    }
}

impl Reporter {
    async fn write(&self) -> Result<String, RepositoryError> {
        let report = HomeReport {
            access_version: self.credentials.access_version().await?,
            regions: self.regions.clone(),
        };
        // All members are serialisable.
        let mut line = serde_json::to_string(&report).unwrap_or_default();
        line.push('\n');
        Ok(line)
    }
}
