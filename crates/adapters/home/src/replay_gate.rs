//! Delays signals of the home region until the replica contains what they are about.
//!
//! Signals are faster than the replica. A head that the replica has not reached would make readers
//! look for events that are not there yet, and the first part of a reply would belong to a turn that
//! does not exist yet.

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Weak},
    time::Duration,
};

use domain::{Seq, TenantId, TurnId};
use futures::{StreamExt as _, stream::BoxStream};
use local_bus::{Closed, LocalBus};
use ports::{EventBus as _, EventLog, Signal, error::one_line};
use tokio::time::{Instant, sleep_until};

/// The pause between two looks at a replica that is behind, at first and after a second.
const SHORT_PAUSE: Duration = Duration::from_millis(5);
const LONG_PAUSE: Duration = Duration::from_millis(50);
const SHORT_FOR: Duration = Duration::from_secs(1);
/// The number of turns that are known to be in the replica. Later parts of others wait once more.
const MAX_PASSED: usize = 16_384;
/// The maximum number of parts of one reply that wait. Readers request lost ones again.
const MAX_HELD_PARTS: usize = 4_096;

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
        let mut next_look = Instant::now();
        loop {
            let is_waiting = !self.heads.is_empty() || !self.replies.is_empty();
            let outcome = tokio::select! {
                signal = arriving.next() => match signal {
                    Some(signal) => self.accept(signal),
                    None => return,
                },
                () = sleep_until(next_look), if is_waiting => {
                    let outcome = self.look().await;
                    next_look = Instant::now() + self.pause();
                    outcome
                }
            };
            if let Err(Closed) = outcome {
                return;
            }
            if self.heads.is_empty() && self.replies.is_empty() {
                self.waiting_since = None;
                next_look = Instant::now();
            }
        }
    }

    fn pause(&mut self) -> Duration {
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

    /// Reads the heads that the replica has, and delivers what waits for them.
    async fn look(&mut self) -> Result<(), Closed> {
        let held = self.replies.values().map(|held| &held.tenant);
        let tenants: HashSet<TenantId> = self.heads.keys().chain(held).cloned().collect();
        for tenant in tenants {
            match self.events.bounds(&tenant).await {
                Ok(bounds) => raise(&mut self.replayed, &tenant, bounds.head),
                Err(error) => {
                    let error = one_line(&error);
                    tracing::debug!(error, "cannot read the replica; signals wait");
                    return Ok(());
                }
            }
        }
        self.deliver_heads()?;
        self.deliver_parts()
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

fn raise(heads: &mut HashMap<TenantId, Seq>, tenant: &TenantId, head: Seq) {
    match heads.get_mut(tenant) {
        Some(known) => *known = (*known).max(head),
        None => drop(heads.insert(tenant.clone(), head)),
    }
}
