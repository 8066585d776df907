//! Delays signals of the home region until the replica contains what they are about.
//!
//! Signals are faster than the replica. A head that the replica has not reached would make readers
//! look for events that are not there yet, and the first part of a reply would belong to a turn that
//! does not exist yet.

use std::{
    collections::{HashMap, HashSet},
    future::pending,
    sync::{Arc, Weak},
    time::Duration,
};

use domain::{Seq, TenantId, TurnId};
use futures::{StreamExt as _, future::BoxFuture, stream::BoxStream};
use ports::{EventBus as _, EventLog, LogHead, RepositoryError, Signal, error::one_line};
use single_node::bus::{Closed, LocalBus};
use tokio::time::{Instant, sleep_until};

/// The pause between two reads of a replica that is behind, at first, and once it has not advanced for a
/// second.
const SHORT_PAUSE: Duration = Duration::from_millis(5);
const LONG_PAUSE: Duration = Duration::from_millis(50);
const SHORT_FOR: Duration = Duration::from_secs(1);
/// The number of turns that are known to be in the replica. Later parts of others wait once more.
const MAX_PASSED: usize = 16_384;
/// The maximum number of parts of one reply that wait. Readers request lost ones again.
const MAX_HELD_PARTS: usize = 4_096;

/// The heads that the replica has, or the reason why they could not be read.
type ReadHeads = Result<Vec<LogHead>, RepositoryError>;

/// Delays signals until the replica has replayed what they are about.
pub(crate) struct ReplayGate {
    events: Arc<dyn EventLog>,
    local: Weak<LocalBus>,
    /// The newest head of each tenant that was signalled.
    signalled: HashMap<TenantId, Seq>,
    /// The newest head of each tenant that the replica is known to have.
    replayed: HashMap<TenantId, Seq>,
    heads: HashMap<TenantId, Seq>,
    replies: HashMap<TurnId, HeldReply>,
    passed: HashSet<TurnId>,
    waiting_since: Option<Instant>,
}

/// The parts of a reply whose turn the replica may not have yet.
struct HeldReply {
    tenant: TenantId,
    /// The head that contains the start of the turn.
    head: Seq,
    parts: Vec<Signal>,
}

impl ReplayGate {
    pub(crate) fn new(events: Arc<dyn EventLog>, local: Weak<LocalBus>) -> Self {
        Self {
            events,
            local,
            signalled: HashMap::new(),
            replayed: HashMap::new(),
            heads: HashMap::new(),
            replies: HashMap::new(),
            passed: HashSet::new(),
            waiting_since: None,
        }
    }

    /// Delivers signals until the bus is dropped.
    pub(crate) async fn run(mut self, mut arriving: BoxStream<'static, Signal>) {
        // The read in progress, during which signals are accepted.
        let mut reading: Option<BoxFuture<'static, ReadHeads>> = None;
        let mut began = Instant::now();
        let mut next_read = began;
        loop {
            let is_due = self.is_waiting() && reading.is_none();
            let outcome = tokio::select! {
                signal = arriving.next() => match signal {
                    Some(signal) => self.accept(signal),
                    None => return,
                },
                () = sleep_until(next_read), if is_due => {
                    began = Instant::now();
                    reading = Some(self.read_heads());
                    Ok(())
                }
                read = result_of(&mut reading) => {
                    reading = None;
                    let outcome = self.apply(read);
                    // A slow replica is read for at most half of the time.
                    next_read = Instant::now() + self.pause().max(began.elapsed());
                    outcome
                }
            };
            if let Err(Closed) = outcome {
                return;
            }
        }
    }

    fn is_waiting(&self) -> bool {
        !self.heads.is_empty() || !self.replies.is_empty()
    }

    fn pause(&mut self) -> Duration {
        if !self.is_waiting() {
            self.waiting_since = None;
            return Duration::ZERO;
        }
        let since = *self.waiting_since.get_or_insert_with(Instant::now);
        if since.elapsed() < SHORT_FOR {
            SHORT_PAUSE
        } else {
            LONG_PAUSE
        }
    }

    fn accept(&mut self, signal: Signal) -> Result<(), Closed> {
        match &signal {
            Signal::LogAppended { tenant, head } => {
                raise(&mut self.signalled, tenant, *head);
                if self.has(tenant, *head) {
                    return self.publish(signal);
                }
                raise(&mut self.heads, tenant, *head);
                Ok(())
            }
            Signal::ReplyPart {
                tenant, turn_id, ..
            } if !self.passed.contains(turn_id) => {
                let (tenant, turn) = (tenant.clone(), *turn_id);
                self.hold_part(tenant, turn, signal)
            }
            _ => self.publish(signal),
        }
    }

    fn hold_part(&mut self, tenant: TenantId, turn: TurnId, part: Signal) -> Result<(), Closed> {
        let head = self.signalled.get(&tenant).copied().unwrap_or(Seq(0));
        if !self.replies.contains_key(&turn) && self.has(&tenant, head) {
            self.pass(turn);
            return self.publish(part);
        }
        let reply = self.replies.entry(turn).or_insert_with(|| HeldReply {
            tenant,
            head,
            parts: Vec::new(),
        });
        if reply.parts.len() < MAX_HELD_PARTS {
            reply.parts.push(part);
        }
        Ok(())
    }

    fn pass(&mut self, turn: TurnId) {
        if self.passed.len() >= MAX_PASSED {
            self.passed.clear();
        }
        self.passed.insert(turn);
    }

    fn has(&self, tenant: &TenantId, head: Seq) -> bool {
        let replayed = self.replayed.get(tenant);
        replayed.is_some_and(|replayed| *replayed >= head) || head == Seq(0)
    }

    /// Reads the heads that the replica has: of one tenant, or of all with one statement.
    fn read_heads(&self) -> BoxFuture<'static, ReadHeads> {
        let of_replies = self.replies.values().map(|reply| &reply.tenant);
        let tenants: HashSet<&TenantId> = self.heads.keys().chain(of_replies).collect();
        let only = match tenants.len() {
            1 => tenants.into_iter().next().cloned(),
            _ => None,
        };
        let events = Arc::clone(&self.events);
        Box::pin(async move {
            let Some(tenant) = only else {
                return events.heads().await;
            };
            let head = events.bounds(&tenant).await?.head;
            Ok(vec![LogHead { tenant, head }])
        })
    }

    /// Delivers what waits for the heads that were read.
    fn apply(&mut self, read: ReadHeads) -> Result<(), Closed> {
        let heads = match read {
            Ok(heads) => heads,
            Err(error) => {
                let error = one_line(&error);
                tracing::debug!(error, "cannot read the replica; signals wait");
                return Ok(());
            }
        };
        let waiting = self.heads.len() + self.replies.len();
        for LogHead { tenant, head } in heads {
            if self.signalled.contains_key(&tenant) {
                raise(&mut self.replayed, &tenant, head);
            }
        }
        self.deliver_heads()?;
        self.deliver_parts()?;
        if self.heads.len() + self.replies.len() < waiting {
            // The replica advances.
            self.waiting_since = None;
        }
        Ok(())
    }

    fn deliver_heads(&mut self) -> Result<(), Closed> {
        let heads = std::mem::take(&mut self.heads);
        for (tenant, head) in heads {
            if self.has(&tenant, head) {
                self.publish(Signal::LogAppended { tenant, head })?;
            } else {
                self.heads.insert(tenant, head);
            }
        }
        Ok(())
    }

    fn deliver_parts(&mut self) -> Result<(), Closed> {
        let replies = std::mem::take(&mut self.replies);
        for (turn, held) in replies {
            if self.has(&held.tenant, held.head) {
                self.pass(turn);
                for part in held.parts {
                    self.publish(part)?;
                }
            } else {
                self.replies.insert(turn, held);
            }
        }
        Ok(())
    }

    fn publish(&self, signal: Signal) -> Result<(), Closed> {
        self.local.upgrade().ok_or(Closed)?.publish(signal);
        Ok(())
    }
}

/// Waits for the read in progress; forever without one.
async fn result_of(reading: &mut Option<BoxFuture<'static, ReadHeads>>) -> ReadHeads {
    match reading {
        Some(reading) => reading.await,
        None => pending().await,
    }
}

fn raise(heads: &mut HashMap<TenantId, Seq>, tenant: &TenantId, head: Seq) {
    match heads.get_mut(tenant) {
        Some(known) => *known = (*known).max(head),
        None => drop(heads.insert(tenant.clone(), head)),
    }
}

#[cfg(test)]
mod tests;
