//! The histories of recently used conversations.
//!
//! A turn that ends in this process caches the history for the next one. That turn takes it from the
//! cache instead of copying it. The entry is valid for exactly one number of the next message and of
//! the next turn, which the store assigns: if another process stored a message meanwhile, or messages
//! were superseded, one of them differs and the entry is not used.

use std::time::Duration;

use bytestring::ByteString;
use domain::{ConversationId, FileReference, HistoryMessage, MemorySize as _, Role, TenantId};
use ports::HistoryQuery;
use quick_cache::{
    DefaultHashBuilder, OptionsBuilder, Weighter,
    sync::{Cache, DefaultLifecycle, EntryAction, EntryResult},
};

use super::weight;

/// The maximum number of bytes of all histories.
const MAX_BYTES: u64 = 32 * 1024 * 1024;
/// The approximate number of active conversations.
const EXPECTED_CONVERSATIONS: usize = 2_000;

/// The share of the capacity for entries that are used repeatedly; the rest is for new entries.
const HOT: f64 = 0.5;

type Key = (TenantId, ConversationId);

/// The history for the next turn of each conversation.
pub(crate) struct HistoryCache {
    cache: Cache<Key, History, ByBytes>,
}

#[derive(Debug, Clone)]
struct History {
    /// `None` after a turn has taken them. The entry stays, so that the cache still knows how often
    /// it is used.
    messages: Option<Vec<HistoryMessage>>,
    /// The number of the turn in its conversation.
    turn_number: i64,
    /// The query whose result this is.
    query: HistoryQuery,
}

#[derive(Debug, Clone)]
struct ByBytes;

impl Weighter<Key, History> for ByBytes {
    fn weight(&self, (tenant, _): &Key, history: &History) -> u64 {
        let texts = history.messages.iter().flatten();
        let texts = texts.map(|message| {
            let calls = message.calls.as_ref();
            let files = message.files.iter();
            let files = files.map(|file| size_of::<FileReference>() + file.name.len());
            let calls = calls.map_or(0, |calls| calls.memory_bytes());
            message.content.len() + calls + files.sum::<usize>()
        });
        let slots =
            history.messages.as_ref().map_or(0, Vec::capacity) * size_of::<HistoryMessage>();
        let entry = size_of::<Key>() + size_of::<History>() + tenant.as_str().len();
        (entry + slots + texts.sum::<usize>()) as u64
    }
}

impl Default for HistoryCache {
    fn default() -> Self {
        Self::within(MAX_BYTES)
    }
}

impl HistoryCache {
    fn within(bytes: u64) -> Self {
        let options = OptionsBuilder::new()
            .estimated_items_capacity(EXPECTED_CONVERSATIONS)
            .weight_capacity(bytes)
            .hot_allocation(HOT)
            .build()
            .expect("both capacities are set");
        let (hasher, lifecycle) = (DefaultHashBuilder::default(), DefaultLifecycle::default());
        Self {
            cache: Cache::with_options(options, ByBytes, hasher, lifecycle),
        }
    }

    /// Takes the result of `query` for a turn, if it is cached.
    pub(crate) fn take(
        &self,
        tenant: &TenantId,
        id: ConversationId,
        turn_number: i64,
        query: &HistoryQuery,
    ) -> Option<Vec<HistoryMessage>> {
        if query.before <= 1 {
            // The first message of a conversation.
            return Some(Vec::new());
        }
        let key = (tenant.clone(), id);
        // For a missing key, `entry` would forget that it was used before it was evicted.
        if !self.cache.contains_key(&key) {
            return None;
        }
        let take = |_: &Key, cached: &mut History| {
            let is_valid = cached.query == *query && cached.turn_number == turn_number;
            EntryAction::Retain(if is_valid {
                cached.messages.take()
            } else {
                None
            })
        };
        // Without a time limit, it could wait for another caller if the entry is evicted meanwhile.
        match self.cache.entry(&key, Some(Duration::ZERO), take) {
            EntryResult::Retained(messages) => messages,
            _ => None,
        }
    }

    /// Caches the result of `query` for a turn: the newest of `messages`, which are ordered oldest
    /// first, that fit the limits of the query.
    pub(crate) fn keep(
        &self,
        tenant: &TenantId,
        id: ConversationId,
        turn_number: i64,
        query: HistoryQuery,
        mut messages: Vec<HistoryMessage>,
    ) {
        // As in the store: withdrawn messages do not count, and go with the one before them; a reply whose
        // message is cut off has no calls.
        let newest_first = messages.iter().rev().filter(|it| !it.is_withdrawn());
        let texts = newest_first.clone().map(|message| &*message.content);
        let fitting = query.limits.fitting(texts);
        if let Some(too_many) = newest_first.map(|it| it.seq).nth(fitting) {
            messages.retain(|message| message.seq > too_many);
            let mut replies = messages.iter_mut().filter(|it| !it.is_withdrawn());
            if let Some(first) = replies.next().filter(|first| first.role == Role::Agent) {
                first.calls = None;
            }
        }
        messages.shrink_to_fit();
        join_texts(&mut messages);
        let key = (tenant.clone(), id);
        let history = History {
            messages: Some(messages),
            turn_number,
            query,
        };
        self.cache.insert(key, history);
        weight::report("histories", self.cache.weight());
    }
}

/// Moves the texts into one allocation. The next turn reads all of them, and texts that are spread
/// over the memory take several times as long to read.
fn join_texts(messages: &mut [HistoryMessage]) {
    let texts: Vec<&str> = messages.iter().map(|message| &*message.content).collect();
    let joined = ByteString::from(texts.concat());
    let mut rest = &*joined;
    for message in messages {
        let (text, after) = rest.split_at(message.content.len());
        message.content = joined.slice_ref(text);
        rest = after;
    }
}

#[cfg(test)]
mod tests;
