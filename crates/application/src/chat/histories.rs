//! What was said in the conversations that were talked in last.
//!
//! A turn that ends here leaves what the next one needs, so that it need not read it. That it is
//! all shows in the number of the next message, which the store gives: what another process wrote
//! meanwhile, or a turn that left no answer, makes it another one than is waited for.

use domain::{ConversationId, TenantId, Utterance};
use ports::HistoryQuery;
use quick_cache::{
    DefaultHashBuilder, OptionsBuilder, Weighter,
    sync::{Cache, DefaultLifecycle},
};

use crate::cache::weight;

/// Most bytes of all that is kept together.
const BYTES: u64 = 32 * 1024 * 1024;
/// Roughly how many conversations are talked in at a time.
const EXPECTED_CONVERSATIONS: usize = 2_000;

/// How much of it may be what is used again and again; the rest is for what is new.
const HOT: f64 = 0.5;

type Key = (TenantId, ConversationId);

/// What was said, for the next turn of each conversation.
pub(super) struct Histories {
    cache: Cache<Key, History, ByBytes>,
}

#[derive(Debug, Clone)]
struct History {
    said: Vec<Utterance>,
    /// What it answers.
    query: HistoryQuery,
}

#[derive(Debug, Clone)]
struct ByBytes;

impl Weighter<Key, History> for ByBytes {
    fn weight(&self, (tenant, _): &Key, history: &History) -> u64 {
        // A text has two counters before it.
        let texts = history.said.iter();
        let texts = texts.map(|said| said.content.len() + 2 * size_of::<usize>());
        let places = history.said.capacity() * size_of::<Utterance>();
        let entry = size_of::<Key>() + size_of::<History>() + tenant.as_str().len();
        (entry + places + texts.sum::<usize>()) as u64
    }
}

impl Default for Histories {
    fn default() -> Self {
        Self::within(BYTES)
    }
}

impl Histories {
    fn within(bytes: u64) -> Self {
        let options = OptionsBuilder::new()
            .estimated_items_capacity(EXPECTED_CONVERSATIONS)
            .weight_capacity(bytes)
            .hot_allocation(HOT)
            .build()
            .expect("all that is needed is given");
        let (hasher, lifecycle) = (DefaultHashBuilder::default(), DefaultLifecycle::default());
        Self {
            cache: Cache::with_options(options, ByBytes, hasher, lifecycle),
        }
    }

    /// What is asked for, if it is known without the store.
    pub(super) fn get(
        &self,
        tenant: &TenantId,
        id: ConversationId,
        query: &HistoryQuery,
    ) -> Option<Vec<Utterance>> {
        if query.before <= 1 {
            // The first message of a conversation.
            return Some(Vec::new());
        }
        let kept = self.cache.get(&(tenant.clone(), id))?;
        (kept.query == *query).then_some(kept.said)
    }

    /// Keeps what was said, oldest first, as the answer to `query`: as much of it as fits.
    pub(super) fn keep(
        &self,
        tenant: &TenantId,
        id: ConversationId,
        query: HistoryQuery,
        mut said: Vec<Utterance>,
    ) {
        let newest_first = said.iter().rev().map(|said| &*said.content);
        let fitting = query.limits.fitting(newest_first);
        said.drain(..said.len() - fitting);
        said.shrink_to_fit();
        let key = (tenant.clone(), id);
        self.cache.insert(key, History { said, query });
        weight::report("histories", self.cache.weight());
    }
}

#[cfg(test)]
mod tests {
    use contract::samples;
    use domain::{HistoryLimits, Role};

    use super::*;

    const LIMITS: HistoryLimits = HistoryLimits {
        max_messages: Some(4),
        max_characters: Some(100),
    };

    fn said(places: std::ops::Range<i64>, content: &str) -> Vec<Utterance> {
        let said = |seq| Utterance {
            seq,
            role: Role::User,
            content: content.into(),
        };
        places.map(said).collect()
    }

    fn query(before: i64) -> HistoryQuery {
        HistoryQuery {
            before,
            limits: LIMITS,
        }
    }

    fn got(histories: &Histories, conversation: u32, before: i64) -> Option<Vec<Utterance>> {
        let id = samples::conversation_id(conversation);
        histories.get(&samples::tenant(), id, &query(before))
    }

    fn keep(histories: &Histories, conversation: u32, before: i64, said: Vec<Utterance>) {
        let id = samples::conversation_id(conversation);
        histories.keep(&samples::tenant(), id, query(before), said);
    }

    #[test]
    fn gives_what_was_kept_to_the_next_message_alone() {
        let histories = Histories::default();
        assert_eq!(got(&histories, 1, 1), Some(Vec::new()), "the first message");
        keep(&histories, 1, 3, said(1..3, "a"));
        assert_eq!(got(&histories, 2, 3), None, "another conversation");
        assert_eq!(got(&histories, 1, 4), None, "something was said between");
        assert_eq!(got(&histories, 1, 3), Some(said(1..3, "a")));
    }

    #[test]
    fn gives_nothing_within_other_limits() {
        let (histories, id) = (Histories::default(), samples::conversation_id(1));
        keep(&histories, 1, 3, said(1..3, "a"));
        let mut other = query(3);
        other.limits.max_messages = Some(5);
        assert_eq!(histories.get(&samples::tenant(), id, &other), None);
    }

    #[test]
    fn keeps_the_newest_that_fit() {
        let histories = Histories::default();
        keep(&histories, 1, 9, said(1..9, "a"));
        assert_eq!(got(&histories, 1, 9), Some(said(5..9, "a")));
        let mut mixed = said(1..3, "a");
        mixed.extend(said(3..4, &"é".repeat(99)));
        mixed.extend(said(4..6, "b"));
        keep(&histories, 1, 6, mixed);
        assert_eq!(got(&histories, 1, 6), Some(said(4..6, "b")), "no gap");
    }

    #[test]
    fn keeps_no_more_bytes_than_it_may() {
        let histories = Histories::within(200_000);
        for conversation in 0..2_000 {
            keep(&histories, conversation, 2, said(1..2, &"x".repeat(90)));
        }
        let held = histories.cache.weight();
        assert!((100_000..=200_000).contains(&held), "{held}");
    }

    /// Whoever talks again and again is remembered, however many said something once.
    #[test]
    fn those_who_talk_now_are_not_kept_out_by_those_who_have_gone() {
        let histories = Histories::within(1_000_000);
        for conversation in 0..10_000 {
            keep(&histories, conversation, 2, said(1..2, &"x".repeat(400)));
        }
        let mut found = 0;
        for turn in 1..=10 {
            for conversation in 20_000..20_200 {
                let known = got(&histories, conversation, 2 * turn);
                found += usize::from(turn > 1 && known.is_some());
                keep(&histories, conversation, 2 * turn + 2, said(1..2, "x"));
            }
        }
        assert!(found > 1_700, "{found} of 1,800");
    }
}
