//! Bounded caches in front of the ports, kept true by the event log.
//!
//! Every entry carries the log position it reflects. What this process writes itself replaces or
//! drops its entry before the write is answered; what others write is found in the log by
//! [`CacheInvalidator`], which drops entries older than the change. A process that could not read the log
//! for [`TRUSTED_FOR`] answers nothing from these caches.

mod agents;
mod conversations;
mod histories;
mod invalidator;
mod log_progress;
mod turns;
mod versioned;
pub(crate) mod weight;

use std::{sync::Arc, time::Duration};

use domain::{AgentId, ConversationId, TenantId};
use ports::EventBus;

use crate::chat::LiveTurns;
pub use agents::CachedAgents;
pub use conversations::CachedConversations;
pub(crate) use histories::HistoryCache;
pub use invalidator::CacheInvalidator;
pub use log_progress::LogProgress;
pub use turns::CachedTurns;
pub use versioned::VersionedCache;

/// How long what was cached is trusted after the log was last read.
pub const TRUSTED_FOR: Duration = Duration::from_secs(5);

/// Maximum bytes of all cached agents.
const AGENT_BYTES: u64 = 64 * 1024 * 1024;
/// The number of agents that usually fits.
const EXPECTED_AGENTS: usize = 10_000;
/// Maximum bytes of all cached heads of conversations.
const HEAD_BYTES: u64 = 32 * 1024 * 1024;
/// The number of heads that usually fits.
const EXPECTED_HEADS: usize = 100_000;

/// Agents by tenant and id.
pub type AgentCache = VersionedCache<(TenantId, AgentId), domain::Agent>;
/// Conversation heads by tenant and id.
pub type HeadCache = VersionedCache<(TenantId, ConversationId), domain::ConversationContext>;

/// What the caching decorators and the tail share.
#[derive(Clone)]
pub struct Caches {
    /// Agents.
    pub agents: Arc<AgentCache>,
    /// Conversation heads.
    pub heads: Arc<HeadCache>,
    /// How far this process has applied each tenant's log.
    pub applied: Arc<LogProgress>,
    /// The turns that this process runs or waits for: whoever ends one from outside stops it.
    pub live: Arc<LiveTurns>,
}

impl Caches {
    /// Empty caches. What this process writes and applies to them is published on `bus`.
    pub fn new(bus: Arc<dyn EventBus>) -> Self {
        Self {
            agents: Arc::new(VersionedCache::new(AGENT_BYTES, EXPECTED_AGENTS)),
            heads: Arc::new(VersionedCache::new(HEAD_BYTES, EXPECTED_HEADS)),
            applied: Arc::new(LogProgress::new(bus)),
            live: Arc::default(),
        }
    }

    /// Publishes the weight of each cache.
    fn report_weight(&self) {
        weight::report("agents", self.agents.weight());
        weight::report("conversation_heads", self.heads.weight());
    }
}
