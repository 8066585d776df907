//! The histories of recently used conversations.
//!
//! A turn that ends in this process caches the history for the next one. That turn takes it from the
//! cache instead of copying it. The entry is valid for exactly one number of the next message and of
//! the next turn, which the store assigns: if another process stored a message meanwhile, or messages
//! were superseded, one of them differs and the entry is not used.

use std::time::Duration;

use bytestring::ByteString;
use domain::{ConversationId, HistoryMessage, TenantId};
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
        let texts = texts.map(|message| message.content.len());
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
        let newest_first = messages.iter().rev().map(|message| &*message.content);
        let fitting = query.limits.fitting(newest_first);
        messages.drain(..messages.len() - fitting);
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

/// Moves the texts into one allocation. The next turn reads all of them, and texts that are spread over
/// the memory take several times as long to read.
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
mod tests {
    use contract::fixture;
    use domain::{HistoryLimits, Role};

    use super::*;

    const LIMITS: HistoryLimits = HistoryLimits {
        max_messages: Some(4),
        max_characters: Some(100),
    };

    fn messages(seqs: std::ops::Range<i64>, content: &str) -> Vec<HistoryMessage> {
        let message = |seq| HistoryMessage {
            seq,
            role: Role::User,
            content: content.into(),
        };
        seqs.map(message).collect()
    }

    fn query(before: i64) -> HistoryQuery {
        HistoryQuery {
            before,
            limits: LIMITS,
        }
    }

    fn take(
        histories: &HistoryCache,
        conversation: u32,
        before: i64,
    ) -> Option<Vec<HistoryMessage>> {
        let id = fixture::conversation_id(conversation);
        histories.take(&fixture::tenant(), id, 7, &query(before))
    }

    fn keep(
        histories: &HistoryCache,
        conversation: u32,
        before: i64,
        messages: Vec<HistoryMessage>,
    ) {
        let id = fixture::conversation_id(conversation);
        histories.keep(&fixture::tenant(), id, 7, query(before), messages);
    }

    #[test]
    fn a_history_is_returned_for_the_next_message_only() {
        let histories = HistoryCache::default();
        assert_eq!(
            take(&histories, 1, 1),
            Some(Vec::new()),
            "the first message"
        );
        keep(&histories, 1, 3, messages(1..3, "a"));
        assert_eq!(take(&histories, 2, 3), None, "another conversation");
        assert_eq!(take(&histories, 1, 4), None, "another message was stored");
        assert_eq!(take(&histories, 1, 3), Some(messages(1..3, "a")));
    }

    #[test]
    fn a_history_is_taken_once() {
        let (histories, long) = (HistoryCache::default(), "x".repeat(50));
        keep(&histories, 1, 3, messages(1..3, &long));
        let held = histories.cache.weight();
        assert_eq!(take(&histories, 1, 3), Some(messages(1..3, &long)));
        assert_eq!(take(&histories, 1, 3), None);
        assert!(histories.cache.weight() + 100 <= held);
    }

    #[test]
    fn a_history_is_not_returned_for_other_limits() {
        let (histories, id) = (HistoryCache::default(), fixture::conversation_id(1));
        keep(&histories, 1, 3, messages(1..3, "a"));
        let mut other = query(3);
        other.limits.max_messages = Some(5);
        assert_eq!(histories.take(&fixture::tenant(), id, 7, &other), None);
    }

    #[test]
    fn a_history_is_returned_for_the_next_turn_only() {
        let (histories, id) = (HistoryCache::default(), fixture::conversation_id(1));
        keep(&histories, 1, 3, messages(1..3, "a"));
        let found = histories.take(&fixture::tenant(), id, 8, &query(3));
        assert_eq!(found, None, "messages were superseded");
    }

    #[test]
    fn the_newest_messages_within_the_limits_are_cached() {
        let histories = HistoryCache::default();
        keep(&histories, 1, 9, messages(1..9, "a"));
        assert_eq!(take(&histories, 1, 9), Some(messages(5..9, "a")));
        let mut mixed = messages(1..3, "a");
        mixed.extend(messages(3..4, &"é".repeat(99)));
        mixed.extend(messages(4..6, "b"));
        keep(&histories, 1, 6, mixed);
        assert_eq!(take(&histories, 1, 6), Some(messages(4..6, "b")), "no gap");
    }

    #[test]
    fn the_weight_stays_within_the_limit() {
        let histories = HistoryCache::within(200_000);
        for conversation in 0..2_000 {
            keep(&histories, conversation, 2, messages(1..2, &"x".repeat(90)));
        }
        let held = histories.cache.weight();
        assert!((100_000..=200_000).contains(&held), "{held}");
    }

    #[test]
    fn a_conversation_that_returns_soon_after_its_eviction_stays_cached() {
        let (histories, text) = (HistoryCache::within(1_000_000), "x".repeat(90));
        let use_once = |conversations: std::ops::Range<u32>| {
            for conversation in conversations {
                keep(&histories, conversation, 2, messages(1..2, &text));
            }
        };
        let returning = 20_000..20_200;
        use_once(0..10_000);
        use_once(returning.clone());
        use_once(30_000..32_500);
        for conversation in returning.clone() {
            assert_eq!(take(&histories, conversation, 2), None, "it was evicted");
            keep(&histories, conversation, 4, messages(1..2, &text));
        }
        use_once(40_000..42_000);
        let found = returning.filter(|conversation| take(&histories, *conversation, 4).is_some());
        let found = found.count();
        assert!(found > 150, "{found} of 200");
    }

    /// A conversation that is used repeatedly stays cached, however many others are used once.
    #[test]
    fn active_conversations_are_cached_despite_many_idle_ones() {
        let histories = HistoryCache::within(1_000_000);
        for conversation in 0..10_000 {
            keep(
                &histories,
                conversation,
                2,
                messages(1..2, &"x".repeat(400)),
            );
        }
        let mut found = 0;
        for turn in 1..=10 {
            for conversation in 20_000..20_200 {
                let known = take(&histories, conversation, 2 * turn);
                found += usize::from(turn > 1 && known.is_some());
                keep(&histories, conversation, 2 * turn + 2, messages(1..2, "x"));
            }
        }
        assert!(found > 1_700, "{found} of 1,800");
    }
}
