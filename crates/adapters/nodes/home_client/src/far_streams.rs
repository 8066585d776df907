//! The home region's end of the streams to far nodes.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use domain::RegionEntry;
use futures::{
    StreamExt as _,
    future::BoxFuture,
    stream::{self, BoxStream},
};
use ports::{CredentialRepository, EventBus, FarNodes, RepositoryError, Signal};
use single_node::bus::{Message, MessageWriter, Outbox};
use tokio::time::{Interval, MissedTickBehavior, interval};
use uuid::Uuid;

use crate::{
    connected_node::{Connected, ConnectedNode, ConnectedNodes, attributed},
    wire::{HomeReport, Notice, is_sent_home},
};

/// The interval between two reports.
const REPORT_INTERVAL: Duration = Duration::from_secs(1);
/// The maximum length of a message, in bytes.
const MAX_MESSAGE_BYTES: usize = 64 * 1024;
/// The maximum number of signals that are sent together.
const MAX_SIGNALS: usize = 1_024;

/// Exchanges signals with the nodes of far regions.
pub struct FarStreams {
    bus: Arc<dyn EventBus>,
    reporter: Arc<Reporter>,
    nodes: ConnectedNodes,
}

impl FarStreams {
    /// Creates the streams of a home region that reports these `regions`, as far as they have a name,
    /// and the id of its store.
    pub fn new(
        bus: Arc<dyn EventBus>,
        credentials: Arc<dyn CredentialRepository>,
        mut regions: Vec<RegionEntry>,
        store: Option<Uuid>,
    ) -> Self {
        regions.retain(|region| region.name.is_some());
        Self {
            bus,
            reporter: Arc::new(Reporter {
                credentials,
                regions,
                store,
            }),
            nodes: ConnectedNodes::default(),
        }
    }
}

impl FarNodes for FarStreams {
    fn open(&self, process: Uuid, closing: BoxFuture<'static, ()>) -> BoxStream<'static, Bytes> {
        let node = Arc::new(ConnectedNode::new(process));
        self.nodes.lock().insert(process, Arc::clone(&node));
        let receiver = Arc::clone(&node);
        let signals = self
            .bus
            .subscribe(Box::new(move |signal| receiver.accepts(signal)));
        let mut ticks = interval(REPORT_INTERVAL);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let stream = FarStream {
            signals: signals.ready_chunks(MAX_SIGNALS).boxed(),
            closing: Some(closing),
            ticks,
            writer: MessageWriter::new(Uuid::nil(), MAX_MESSAGE_BYTES),
            outbox: Outbox::default(),
            reporter: Arc::clone(&self.reporter),
            _connected: Connected {
                nodes: Arc::clone(&self.nodes),
                node,
            },
        };
        stream::unfold(stream, |mut stream| async move {
            let lines = stream.next_lines().await?;
            Some((lines, stream))
        })
        .boxed()
    }

    fn receive(&self, process: Uuid, messages: &[u8]) {
        // The stream of the node may be open to another node of the home region.
        let node = self.nodes.lock().get(&process).cloned();
        for line in messages.split(|byte| *byte == b'\n') {
            let text = String::from_utf8_lossy(line);
            let Some(message) = Message::read(&text) else {
                continue;
            };
            for signal in message.into_signals().into_iter().filter(is_sent_home) {
                let signal = attributed(process, signal);
                match &node {
                    Some(node) => node.publish(signal, |signal| self.bus.publish(signal)),
                    None => self.bus.publish(signal),
                }
            }
        }
    }
}

/// The stream to one far node.
struct FarStream {
    signals: BoxStream<'static, Vec<Signal>>,
    /// Ends when this process shuts down; `None` after that.
    closing: Option<BoxFuture<'static, ()>>,
    ticks: Interval,
    writer: MessageWriter,
    outbox: Outbox,
    reporter: Arc<Reporter>,
    _connected: Connected,
}

/// Writes reports.
struct Reporter {
    credentials: Arc<dyn CredentialRepository>,
    regions: Vec<RegionEntry>,
    store: Option<Uuid>,
}

impl FarStream {
    /// Returns the next lines; `None` after the announcement of the end, or if the bus is closed.
    async fn next_lines(&mut self) -> Option<Bytes> {
        loop {
            let closing = self.closing.as_mut()?;
            let signals = tokio::select! {
                biased;
                () = closing => {
                    self.closing = None;
                    return Some(Notice::Closing.line().into());
                }
                _ = self.ticks.tick() => Vec::new(),
                signals = self.signals.next() => signals?,
            };
            let lines = self.write(signals).await;
            if !lines.is_empty() {
                return Some(lines.into());
            }
        }
    }

    /// Writes signals; a report if there are none.
    async fn write(&mut self, signals: Vec<Signal>) -> String {
        let mut lines = String::new();
        if signals.contains(&Signal::SignalsLost) {
            lines.push_str(&Notice::SignalsLost.line());
        }
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
        let mut is_filled = false;
        for signal in signals.iter().filter(|it| **it != Signal::SignalsLost) {
            self.outbox.push(signal);
            is_filled = true;
        }
        if is_filled {
            for message in self.writer.write(&self.outbox.take()) {
                lines.push_str(&message);
                lines.push('\n');
            }
        }
        lines
    }
}

impl Reporter {
    async fn write(&self) -> Result<String, RepositoryError> {
        let report = HomeReport {
            access_version: self.credentials.access_version().await?,
            regions: self.regions.clone(),
            store: self.store,
        };
        // All members are serialisable.
        let mut line = serde_json::to_string(&report).unwrap_or_default();
        line.push('\n');
        Ok(line)
    }
}
