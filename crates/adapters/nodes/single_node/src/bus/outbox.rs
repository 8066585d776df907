//! The signals that wait to be sent.

use std::{
    collections::{HashMap, VecDeque},
    mem::take,
};

use domain::{Seq, TenantId};
use parking_lot::Mutex;
use ports::Signal;
use tokio::sync::Notify;

/// The maximum number of waiting signals, besides one head for each tenant. Beyond it, the oldest is
/// dropped.
const MAX_SIGNALS: usize = 4_096;

/// The maximum size of the parts of replies that wait, in bytes. Beyond it, further ones are dropped:
/// their readers request them again.
const MAX_PART_BYTES: usize = 16 * 1024 * 1024;

/// The signals that wait to be sent, in the order in which they were added. Of several heads of one
/// tenant only the highest is kept, at the place of the last one: the parts of a reply precede the head
/// with its end. Of equal signals without members one is kept.
#[derive(Default)]
pub struct Outbox {
    waiting: Mutex<Waiting>,
    filled: Notify,
}

#[derive(Default)]
struct Waiting {
    /// The number of signals that were added.
    added: u64,
    /// The heads and the other signals, each with its number.
    heads: HashMap<TenantId, (u64, Seq)>,
    others: VecDeque<(u64, Signal)>,
    part_bytes: usize,
}

impl Waiting {
    fn push(&mut self, signal: Signal) {
        if self.others.len() == MAX_SIGNALS {
            self.others.pop_front();
            metrics::counter!("bus_signals_dropped").increment(1);
        }
        if let Signal::ReplyPart { part, .. } = &signal {
            self.part_bytes += part.bytes();
        }
        self.others.push_back((self.added, signal));
    }

    fn contains(&self, signal: &Signal) -> bool {
        self.others.iter().any(|(_, known)| known == signal)
    }
}

impl Outbox {
    /// Adds a signal.
    pub fn push(&self, signal: &Signal) {
        let mut waiting = self.waiting.lock();
        let was_empty = waiting.heads.is_empty() && waiting.others.is_empty();
        waiting.added += 1;
        let number = waiting.added;
        match signal {
            Signal::LogAppended { tenant, head } => match waiting.heads.get_mut(tenant) {
                Some((last, known)) => (*last, *known) = (number, (*known).max(*head)),
                None => drop(waiting.heads.insert(tenant.clone(), (number, *head))),
            },
            Signal::SignalsLost => return,
            Signal::AccessChanged | Signal::NodeJoined | Signal::FallbackRequested
                if waiting.contains(signal) => {}
            Signal::ReplyPart { part, .. }
                if waiting.part_bytes + part.bytes() > MAX_PART_BYTES =>
            {
                metrics::counter!("bus_signals_dropped").increment(1);
                return;
            }
            _ => waiting.push(signal.clone()),
        }
        drop(waiting);
        if was_empty {
            self.filled.notify_one();
        }
    }

    /// Waits until there are signals.
    pub async fn filled(&self) {
        self.filled.notified().await;
    }

    /// Removes all signals.
    pub fn take(&self) -> Vec<Signal> {
        let Waiting { heads, others, .. } = take(&mut *self.waiting.lock());
        let heads = heads
            .into_iter()
            .map(|(tenant, (number, head))| (number, Signal::LogAppended { tenant, head }));
        let mut signals: Vec<_> = heads.chain(others).collect();
        signals.sort_unstable_by_key(|(number, _)| *number);
        signals.into_iter().map(|(_, signal)| signal).collect()
    }
}

#[cfg(test)]
mod tests {
    use domain::{ConversationId, NodeId, TurnId};
    use ports::ReplyPart;
    use uuid::Uuid;

    use super::*;

    fn appended(tenant: &str, head: i64) -> Signal {
        Signal::LogAppended {
            tenant: tenant.parse().unwrap(),
            head: Seq(head),
        }
    }

    #[test]
    fn only_the_highest_head_of_a_tenant_is_sent() {
        let outbox = Outbox::default();
        for signal in [
            appended("a", 1),
            appended("b", 7),
            appended("a", 3),
            appended("a", 2),
        ] {
            outbox.push(&signal);
        }
        assert_eq!(outbox.take(), [appended("b", 7), appended("a", 3)]);
        assert_eq!(outbox.take(), []);
    }

    #[test]
    fn other_signals_keep_their_place_before_a_later_head() {
        let outbox = Outbox::default();
        let signals = [appended("a", 1), Signal::AccessChanged, appended("a", 2)];
        for signal in &signals {
            outbox.push(signal);
        }
        assert_eq!(outbox.take(), [Signal::AccessChanged, appended("a", 2)]);
        outbox.push(&signals[0]);
        outbox.push(&signals[1]);
        assert_eq!(outbox.take(), signals[..2]);
    }

    #[test]
    fn equal_signals_without_members_are_sent_once() {
        let outbox = Outbox::default();
        for _ in 0..3 {
            outbox.push(&Signal::AccessChanged);
            outbox.push(&Signal::NodeJoined);
        }
        assert_eq!(outbox.take(), [Signal::AccessChanged, Signal::NodeJoined]);
        outbox.push(&Signal::AccessChanged);
        assert_eq!(outbox.take(), [Signal::AccessChanged]);
    }

    #[test]
    fn parts_of_replies_are_dropped_before_other_signals() {
        let outbox = Outbox::default();
        let part = Signal::ReplyPart {
            tenant: "a".parse().unwrap(),
            conversation_id: ConversationId::new(Uuid::nil()),
            turn_id: TurnId::new(Uuid::nil()),
            node: NodeId::new(Uuid::nil()),
            resumptions: 0,
            part: ReplyPart::Text {
                from: 0,
                text: "x".repeat(1024 * 1024),
            },
        };
        for _ in 0..20 {
            outbox.push(&part);
        }
        outbox.push(&Signal::AccessChanged);
        let taken = outbox.take();
        assert!(taken.len() < 20 && taken.contains(&Signal::AccessChanged));
        outbox.push(&part);
        assert_eq!(outbox.take(), [part]);
    }
}
