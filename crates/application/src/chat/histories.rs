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
