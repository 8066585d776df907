//! What was said in the conversations that were talked in last.
//!
//! A turn that ends here leaves what the next one needs, so that it need not read it. That it is
//! all shows in the numbers of the messages, which have no gaps and are given by the store: what
//! another process wrote meanwhile, or a turn that left no answer, makes the next question's number
//! another one than is waited for.

use domain::{ConversationId, HistoryLimits, TenantId, Utterance};
use ports::HistoryQuery;
use quick_cache::{Weighter, sync::Cache};

/// Most bytes of all that is kept together.
const BYTES: u64 = 32 * 1024 * 1024;
/// Roughly how many conversations are talked in at a time.
const EXPECTED_CONVERSATIONS: usize = 2_000;

type Key = (TenantId, ConversationId);

/// What was said, for the next turn of each conversation.
pub struct Histories {
    cache: Cache<Key, History, ByBytes>,
}

#[derive(Debug, Clone)]
struct History {
    said: Vec<Utterance>,
    /// What the next question would be asked: everything before its message, within these limits.
    of: HistoryQuery,
}

#[derive(Debug, Clone)]
struct ByBytes;

impl Weighter<Key, History> for ByBytes {
    fn weight(&self, (tenant, _): &Key, history: &History) -> u64 {
        let said = history.said.iter();
        let texts: usize = said
            .map(|said| size_of::<Utterance>() + said.content.len())
            .sum();
        (size_of::<Key>() + size_of::<History>() + tenant.as_str().len() + texts) as u64
    }
}

impl Default for Histories {
    fn default() -> Self {
        Self::within(BYTES)
    }
}

impl Histories {
    fn within(bytes: u64) -> Self {
        Self {
            cache: Cache::with_weighter(EXPECTED_CONVERSATIONS, bytes, ByBytes),
        }
    }

    /// Gives what is asked for, if it is known without the store. It is kept no longer.
    pub(super) fn take(
        &self,
        tenant: &TenantId,
        id: ConversationId,
        query: &HistoryQuery,
    ) -> Option<Vec<Utterance>> {
        if query.before <= 1 {
            // The first message of a conversation.
            return Some(Vec::new());
        }
        let (_, kept) = self.cache.remove(&(tenant.clone(), id))?;
        (kept.of == *query).then_some(kept.said)
    }

    /// Keeps what was said, oldest first and without gaps, for the turn that begins with the next
    /// message.
    pub(super) fn keep(
        &self,
        tenant: &TenantId,
        id: ConversationId,
        mut said: Vec<Utterance>,
        limits: HistoryLimits,
    ) {
        let Some(last) = said.last() else { return };
        let of = HistoryQuery {
            before: last.seq + 1,
            limits,
        };
        let fitting = limits.fitting(said.iter().rev().map(|said| &*said.content));
        said.drain(..said.len() - fitting);
        let key = (tenant.clone(), id);
        self.cache.insert(key, History { said, of });
    }

    /// Forgets what was said in a conversation that is gone.
    pub(crate) fn forget(&self, tenant: &TenantId, id: ConversationId) {
        self.cache.remove(&(tenant.clone(), id));
    }
}

#[cfg(test)]
mod tests {
    use contract::samples;
    use domain::Role;

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

    fn taken(histories: &Histories, conversation: u32, before: i64) -> Option<Vec<Utterance>> {
        let query = HistoryQuery {
            before,
            limits: LIMITS,
        };
        let id = samples::conversation_id(conversation);
        histories.take(&samples::tenant(), id, &query)
    }

    fn kept(conversation: u32, said: Vec<Utterance>, histories: &Histories) {
        let id = samples::conversation_id(conversation);
        histories.keep(&samples::tenant(), id, said, LIMITS);
    }

    #[test]
    fn gives_what_was_kept_once_and_to_the_next_message_alone() {
        let histories = Histories::default();
        assert_eq!(
            taken(&histories, 1, 1),
            Some(Vec::new()),
            "the first message"
        );
        kept(1, said(1..3, "a"), &histories);
        assert_eq!(taken(&histories, 2, 3), None, "another conversation");
        assert_eq!(taken(&histories, 1, 3), Some(said(1..3, "a")));
        assert_eq!(taken(&histories, 1, 3), None, "it was taken");
        kept(1, said(1..3, "a"), &histories);
        assert_eq!(taken(&histories, 1, 4), None, "something was said between");
    }

    #[test]
    fn gives_nothing_within_other_limits_or_when_it_was_forgotten() {
        let (histories, tenant) = (Histories::default(), samples::tenant());
        let id = samples::conversation_id(1);
        kept(1, said(1..3, "a"), &histories);
        let limits = HistoryLimits {
            max_messages: Some(5),
            ..LIMITS
        };
        let query = HistoryQuery { before: 3, limits };
        assert_eq!(histories.take(&tenant, id, &query), None);
        kept(1, said(1..3, "a"), &histories);
        histories.forget(&tenant, id);
        assert_eq!(taken(&histories, 1, 3), None);
    }

    #[test]
    fn keeps_the_newest_that_fit() {
        let histories = Histories::default();
        kept(1, said(1..9, "a"), &histories);
        assert_eq!(taken(&histories, 1, 9), Some(said(5..9, "a")));
        let mut mixed = said(1..3, "a");
        mixed.extend(said(3..4, &"é".repeat(99)));
        mixed.extend(said(4..6, "b"));
        kept(1, mixed, &histories);
        assert_eq!(taken(&histories, 1, 6), Some(said(4..6, "b")), "no gap");
    }

    #[test]
    fn keeps_no_more_bytes_than_it_may() {
        let histories = Histories::within(100_000);
        for conversation in 0..1_000 {
            kept(conversation, said(1..2, &"x".repeat(90)), &histories);
        }
        let held = histories.cache.weight();
        assert!((50_000..=100_000).contains(&held), "{held}");
    }
}
