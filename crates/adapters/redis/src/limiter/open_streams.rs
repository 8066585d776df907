//! The open streams of this process, and their copy in the server.

use std::{
    collections::HashMap,
    sync::{
        Arc, LazyLock,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use domain::QuotaHolder;
use futures::{StreamExt as _, stream};
use parking_lot::Mutex;
use redis::{RedisResult, Script};
use tokio::{
    sync::Notify,
    time::{Instant, MissedTickBehavior, interval},
};
use uuid::Uuid;

use super::circuit::Circuit;
use crate::connection::Connection;

static CHANGE: LazyLock<Script> = LazyLock::new(|| Script::new(include_str!("open_streams.lua")));

/// The time after which the streams of a process that has crashed are forgotten.
pub(super) const LIFETIME: Duration = Duration::from_secs(10);
/// The interval at which this process reports its streams again.
const REPORT_INTERVAL: Duration = Duration::from_secs(3);
/// The number of principals that are reported at the same time.
const CONCURRENT_CALLS: usize = 32;

/// The open streams of this process, and the closed ones that the server may still count.
pub(super) struct OpenStreams {
    store: Uuid,
    process: Uuid,
    next: AtomicU64,
    holders: Mutex<HashMap<QuotaHolder, Streams>>,
    changed: Notify,
}

/// The streams of one holder, by number. Numbers are never used again, so a stream can be removed from
/// the server any number of times.
#[derive(Default)]
struct Streams {
    open: Vec<u64>,
    closed: Vec<(u64, Instant)>,
}

/// An open stream. Dropping it closes the stream.
pub(super) struct OpenStream {
    streams: Arc<OpenStreams>,
    holder: QuotaHolder,
    number: u64,
}

impl OpenStreams {
    pub(super) fn new(store: Uuid, process: Uuid) -> Self {
        Self {
            store,
            process,
            next: AtomicU64::new(0),
            holders: Mutex::default(),
            changed: Notify::new(),
        }
    }

    /// Opens a stream in this process.
    pub(super) fn open(self: &Arc<Self>, holder: &QuotaHolder) -> OpenStream {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let mut holders = self.holders.lock();
        let streams = holders.entry(holder.clone()).or_default();
        streams.open.push(number);
        OpenStream {
            streams: Arc::clone(self),
            holder: holder.clone(),
            number,
        }
    }

    /// Adds a stream in the server; `false` if `most` are open already. Closed streams do not count,
    /// although they are removed from the server later.
    pub(super) async fn admit(
        &self,
        connection: &mut Connection,
        stream: &OpenStream,
        most: u32,
    ) -> RedisResult<bool> {
        let holder = &stream.holder;
        let closed = self.closed(holder);
        self.change(connection, holder, Some(most), &[stream.number], &closed)
            .await
    }

    /// Keeps the streams in the server up to date until the task is dropped.
    pub(super) async fn run(&self, circuit: &Circuit) {
        let mut reports = interval(REPORT_INTERVAL);
        reports.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let report_open = tokio::select! {
                _ = reports.tick() => true,
                () = circuit.closed() => true,
                () = self.changed.notified() => false,
            };
            self.update(circuit, report_open).await;
        }
    }

    /// Removes closed streams from the server, and reports the open ones again. One task does both, so
    /// a report never follows the removal of a stream that it contains.
    async fn update(&self, circuit: &Circuit, report_open: bool) {
        let due: Vec<(QuotaHolder, Vec<u64>, Vec<u64>)> = {
            let mut holders = self.holders.lock();
            holders.retain(|_, streams| {
                // The server has forgotten them by now.
                streams.closed.retain(|(_, at)| at.elapsed() < LIFETIME);
                !(streams.open.is_empty() && streams.closed.is_empty())
            });
            let due = holders
                .iter()
                .filter(|(_, streams)| report_open || !streams.closed.is_empty());
            let numbers = |streams: &Streams| {
                let open = if report_open {
                    streams.open.clone()
                } else {
                    Vec::new()
                };
                (open, streams.closed.iter().map(|(it, _)| *it).collect())
            };
            due.map(|(holder, streams)| {
                let (open, closed) = numbers(streams);
                (holder.clone(), open, closed)
            })
            .collect()
        };
        stream::iter(due)
            .for_each_concurrent(CONCURRENT_CALLS, async |(holder, open, closed)| {
                let changed = circuit.call(async |connection| {
                    self.change(connection, &holder, None, &open, &closed).await
                });
                if changed.await.is_some() {
                    self.forget(&holder, &closed);
                }
            })
            .await;
    }

    async fn change(
        &self,
        connection: &mut Connection,
        holder: &QuotaHolder,
        most: Option<u32>,
        add: &[u64],
        remove: &[u64],
    ) -> RedisResult<bool> {
        let (store, process) = (self.store.simple(), self.process.simple());
        let (tenant, principal) = (&holder.tenant, holder.principal.as_str());
        let mut script = CHANGE.key(format!(
            "agent-service:{store}:streams:{tenant}:{principal}"
        ));
        script.arg(u64::try_from(LIFETIME.as_millis()).unwrap_or(u64::MAX));
        script.arg(most.map_or(-1, i64::from)).arg(add.len());
        for number in add.iter().chain(remove) {
            script.arg(format!("{process}:{number}"));
        }
        script.invoke_async(connection).await
    }

    fn closed(&self, holder: &QuotaHolder) -> Vec<u64> {
        let holders = self.holders.lock();
        let closed = holders.get(holder).into_iter();
        closed
            .flat_map(|streams| streams.closed.iter().map(|(number, _)| *number))
            .collect()
    }

    /// Forgets closed streams that were removed from the server.
    fn forget(&self, holder: &QuotaHolder, removed: &[u64]) {
        let mut holders = self.holders.lock();
        if let Some(streams) = holders.get_mut(holder) {
            streams
                .closed
                .retain(|(number, _)| !removed.contains(number));
            if streams.open.is_empty() && streams.closed.is_empty() {
                holders.remove(holder);
            }
        }
    }
}

impl Drop for OpenStream {
    fn drop(&mut self) {
        let mut holders = self.streams.holders.lock();
        let streams = holders.entry(self.holder.clone()).or_default();
        streams.open.retain(|number| *number != self.number);
        streams.closed.push((self.number, Instant::now()));
        drop(holders);
        self.streams.changed.notify_one();
    }
}
