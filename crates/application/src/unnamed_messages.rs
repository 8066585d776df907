//! Messages to which their clients give no ids. Such a client only reports that it sends a message
//! again, possibly while the first request is being stored, and even before it arrives.

use std::{collections::HashMap, sync::Arc, time::Duration};

use domain::{IdempotencyKey, Principal, PrincipalId, TenantId, Timestamp};
use parking_lot::Mutex;
use ports::Clock;

use crate::chat::REPEATABLE_FOR;

/// The time for which the first request can arrive after a repeated one.
const MAX_DELAY: Duration = Duration::from_secs(2);
/// The maximum number of messages. Without its entry, a message is looked up in the store.
const MAX_MESSAGES: usize = 10_000;

type Key = (TenantId, PrincipalId, IdempotencyKey);

/// The ids that this process has given to recent messages.
pub struct UnnamedMessages {
    entries: Mutex<HashMap<Key, Entry>>,
    clock: Arc<dyn Clock>,
}

struct Entry {
    id: String,
    /// The running time of the clock.
    named_at: Duration,
    /// True if only repeated requests have arrived.
    awaits_first: bool,
}

/// The id of a message that a client sends for the first time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FirstId {
    /// The message has just received this id.
    New(String),
    /// A repeated request has arrived before, and has given it this id.
    Overtaken(String),
}

impl UnnamedMessages {
    pub(super) fn new(clock: Arc<dyn Clock>) -> Self {
        Self {
            entries: Mutex::default(),
            clock,
        }
    }

    /// Gives a message that is sent for the first time the id `id`, unless it has one. If an equal
    /// message has that id, it receives `other`. `content` identifies everything by which messages
    /// of a caller differ.
    pub fn first(
        &self,
        caller: &Principal,
        content: &IdempotencyKey,
        id: String,
        other: String,
    ) -> FirstId {
        let now = self.clock.running_for();
        let mut entries = self.entries.lock();
        let known = entries.get_mut(&key(caller, content));
        let id = match known {
            Some(entry) if entry.awaits_first && now < entry.named_at + MAX_DELAY => {
                entry.awaits_first = false;
                return FirstId::Overtaken(entry.id.clone());
            }
            Some(entry) if entry.id == id => other,
            _ => id,
        };
        let entry = Entry {
            id: id.clone(),
            named_at: now,
            awaits_first: false,
        };
        insert(&mut entries, key(caller, content), entry);
        FirstId::New(id)
    }

    /// Returns whether the first request of a message that was sent again at `repeated_at` may still
    /// arrive.
    pub fn may_be_late(&self, repeated_at: Timestamp) -> bool {
        self.clock.now() < repeated_at + MAX_DELAY
    }

    /// Returns the id of a message that is sent again, if this process knows it.
    pub fn find(&self, caller: &Principal, content: &IdempotencyKey) -> Option<String> {
        let now = self.clock.running_for();
        let entries = self.entries.lock();
        let known = entries.get(&key(caller, content));
        known
            .filter(|entry| entry.is_recent(now))
            .map(|it| it.id.clone())
    }

    /// Gives a message that is sent again the id `id`, unless it has received one meanwhile.
    /// `is_stored` is true if the first request has stored it.
    pub fn again(
        &self,
        caller: &Principal,
        content: &IdempotencyKey,
        (id, is_stored): (String, bool),
    ) -> String {
        let now = self.clock.running_for();
        let mut entries = self.entries.lock();
        let known = entries.get(&key(caller, content));
        if let Some(known) = known.filter(|entry| entry.is_recent(now)) {
            return known.id.clone();
        }
        let entry = Entry {
            id: id.clone(),
            named_at: now,
            awaits_first: !is_stored,
        };
        insert(&mut entries, key(caller, content), entry);
        id
    }
}

impl Entry {
    fn is_recent(&self, now: Duration) -> bool {
        now < self.named_at + REPEATABLE_FOR
    }
}

fn key(caller: &Principal, content: &IdempotencyKey) -> Key {
    (caller.tenant.clone(), caller.id.clone(), content.clone())
}

fn insert(entries: &mut HashMap<Key, Entry>, key: Key, entry: Entry) {
    if entries.len() >= MAX_MESSAGES {
        entries.retain(|_, old| old.is_recent(entry.named_at));
    }
    if entries.len() >= MAX_MESSAGES {
        entries.clear();
    }
    entries.insert(key, entry);
}

#[cfg(test)]
mod tests;
