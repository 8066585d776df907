//! The open streams of this process, and their copy in the server.

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use domain::QuotaHolder;
use futures::{StreamExt as _, stream};
use parking_lot::Mutex;
use redis::RedisResult;
use tokio::{
    sync::Notify,
    time::{Instant, MissedTickBehavior, interval},
};
use uuid::Uuid;

use super::{
    circuit::Circuit,
    stream_change::{LIFETIME, StreamChange, apply_all},
};
use crate::connection::Connection;

/// The interval at which this process reports its streams again.
const REPORT_INTERVAL: Duration = Duration::from_secs(3);
/// The number of principals in one round trip. Calls of other requests wait meanwhile.
const HOLDERS_PER_CALL: usize = 128;
/// The number of round trips at the same time.
const CONCURRENT_CALLS: usize = 4;

/// The open streams of this process, and the closed ones that the server may still count.
pub(super) struct OpenStreams {
    store: Uuid,
    process: Uuid,
    next: AtomicU64,
    holders: Mutex<Holders>,
    changed: Notify,
}

#[derive(Default)]
struct Holders {
    streams: HashMap<QuotaHolder, Streams>,
    /// The holders with closed streams that the server has not been informed of.
    changed: Vec<QuotaHolder>,
}

/// The streams of one holder, by number. Numbers are never used again, so a stream can be removed from
/// the server any number of times.
#[derive(Default)]
struct Streams {
    open: Vec<u64>,
    closed: Vec<(u64, Instant)>,
    is_changed: bool,
}

impl Streams {
    fn closed(&self) -> Vec<u64> {
        self.closed.iter().map(|(number, _)| *number).collect()
    }
}

/// The streams of a holder that the server is to add and to remove.
#[derive(Debug, PartialEq, Eq)]
struct Update {
    holder: QuotaHolder,
    open: Vec<u64>,
    closed: Vec<u64>,
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
        let streams = holders.streams.entry(holder.clone()).or_default();
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
        let closed = {
            let holders = self.holders.lock();
            let streams = holders.streams.get(holder);
            streams.map(Streams::closed).unwrap_or_default()
        };
        let change = self.change(holder, Some(most), &[stream.number], &closed);
        change.apply(connection).await
    }

    /// Keeps the streams in the server up to date until the task is dropped.
    pub(super) async fn run(&self, circuit: &Circuit) {
        let mut reports = interval(REPORT_INTERVAL);
        reports.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let updates = tokio::select! {
                _ = reports.tick() => self.all(),
                () = circuit.closed() => self.all(),
                () = self.changed.notified() => self.take_changed(),
            };
            self.send(circuit, updates).await;
        }
    }

    /// Sends updates. One task does so, so a report never follows the removal of a stream that it
    /// contains. The next report repeats what failed.
    async fn send(&self, circuit: &Circuit, updates: Vec<Update>) {
        stream::iter(updates.chunks(HOLDERS_PER_CALL))
            .for_each_concurrent(CONCURRENT_CALLS, async |updates| {
                let change = |it: &Update| self.change(&it.holder, None, &it.open, &it.closed);
                let changes: Vec<_> = updates.iter().map(change).collect();
                let apply = |mut connection| {
                    let changes = &changes;
                    async move { apply_all(&mut connection, changes).await }
                };
                if circuit.call(apply).await.is_some() {
                    self.forget(updates);
                }
            })
            .await;
    }

    /// Returns all open streams, and the closed ones that the server may still count.
    fn all(&self) -> Vec<Update> {
        let mut holders = self.holders.lock();
        holders.changed.clear();
        holders.streams.retain(|_, streams| {
            streams.is_changed = false;
            // The server has forgotten them by now.
            streams.closed.retain(|(_, at)| at.elapsed() < LIFETIME);
            !(streams.open.is_empty() && streams.closed.is_empty())
        });
        let updates = holders.streams.iter().map(|(holder, streams)| Update {
            holder: holder.clone(),
            open: streams.open.clone(),
            closed: streams.closed(),
        });
        updates.collect()
    }

    /// Returns the streams that were closed since the last call.
    fn take_changed(&self) -> Vec<Update> {
        let mut holders = self.holders.lock();
        let Holders { streams, changed } = &mut *holders;
        let updates = changed.drain(..).filter_map(|holder| {
            let streams = streams.get_mut(&holder)?;
            streams.is_changed = false;
            let (open, closed) = (Vec::new(), streams.closed());
            Some(Update {
                holder,
                open,
                closed,
            })
        });
        updates.collect()
    }

    fn change(
        &self,
        holder: &QuotaHolder,
        most: Option<u32>,
        added: &[u64],
        removed: &[u64],
    ) -> StreamChange {
        let (store, process) = (self.store.simple(), self.process.simple());
        let (tenant, principal) = (&holder.tenant, holder.principal.as_str());
        let ids = |numbers: &[u64]| {
            let ids = numbers.iter().map(|number| format!("{process}:{number}"));
            ids.collect()
        };
        StreamChange {
            key: format!("agent-service:{store}:streams:{tenant}:{principal}"),
            most,
            added: ids(added),
            removed: ids(removed),
        }
    }

    /// Forgets closed streams that were removed from the server.
    fn forget(&self, updates: &[Update]) {
        let mut holders = self.holders.lock();
        for Update { holder, closed, .. } in updates {
            if let Some(streams) = holders.streams.get_mut(holder) {
                streams.closed.retain(|(it, _)| !closed.contains(it));
                if streams.open.is_empty() && streams.closed.is_empty() {
                    holders.streams.remove(holder);
                }
            }
        }
    }
}

impl Drop for OpenStream {
    fn drop(&mut self) {
        let mut holders = self.streams.holders.lock();
        let streams = holders.streams.entry(self.holder.clone()).or_default();
        streams.open.retain(|number| *number != self.number);
        streams.closed.push((self.number, Instant::now()));
        if !std::mem::replace(&mut streams.is_changed, true) {
            holders.changed.push(self.holder.clone());
        }
        drop(holders);
        self.streams.changed.notify_one();
    }
}

#[cfg(test)]
mod tests;
