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

/// The signals that wait to be sent. Of several heads of one tenant only the highest is kept.
#[derive(Default)]
pub(crate) struct Outbox {
    waiting: Mutex<Waiting>,
    filled: Notify,
}

#[derive(Default)]
struct Waiting {
    heads: HashMap<TenantId, Seq>,
    others: VecDeque<Signal>,
}

impl Outbox {
    /// Adds a signal.
    pub(crate) fn push(&self, signal: &Signal) {
        let mut waiting = self.waiting.lock();
        let was_empty = waiting.heads.is_empty() && waiting.others.is_empty();
        match signal {
            Signal::LogAppended { tenant, head } => match waiting.heads.get_mut(tenant) {
                Some(known) => *known = (*known).max(*head),
                None => drop(waiting.heads.insert(tenant.clone(), *head)),
            },
            Signal::SignalsLost => return,
            _ => {
                if waiting.others.len() == MAX_SIGNALS {
                    waiting.others.pop_front();
                    metrics::counter!("bus_signals_dropped").increment(1);
                }
                waiting.others.push_back(signal.clone());
            }
        }
        drop(waiting);
        if was_empty {
            self.filled.notify_one();
        }
    }

    /// Waits until there are signals.
    pub(crate) async fn filled(&self) {
        self.filled.notified().await;
    }

    /// Removes all signals.
    pub(crate) fn take(&self) -> Vec<Signal> {
        let Waiting { heads, others } = take(&mut *self.waiting.lock());
        let heads = heads
            .into_iter()
            .map(|(tenant, head)| Signal::LogAppended { tenant, head });
        heads.chain(others).collect()
    }
}

#[cfg(test)]
mod tests {
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
        let mut taken = outbox.take();
        taken.sort_by_key(|signal| format!("{signal:?}"));
        assert_eq!(taken, [appended("a", 3), appended("b", 7)]);
        assert_eq!(outbox.take(), []);
    }
}
