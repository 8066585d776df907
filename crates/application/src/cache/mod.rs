//! Bounded caches in front of the ports, kept valid by the event log.
//!
//! Every entry carries the log position that it reflects. A write of this process replaces or drops
//! its entry before the write returns. [`CacheInvalidator`] reads the writes of other processes
//! from the log and drops the entries that are older than the change. If a process could not read
//! the log for [`TRUSTED_FOR`], it does not use these caches.

mod agents;
mod conversations;
mod found_turns;
mod histories;
mod invalidator;
mod log_progress;
mod turns;
mod users;
mod versioned;
pub mod weight;
mod writes;

use std::{sync::Arc, time::Duration};

use domain::{
    Agent, AgentId, ConversationId, Seq, TenantId, User,
    placeholder::{self, PlaceholderValues},
};
use ports::{
    AgentRepository, BlobStore, Clock, ConversationName, ConversationRepository, EventBus,
    FileRepository, IdSource, IdempotencyRepository, RepositoryError, TurnRepository,
    UserRepository,
};

use crate::live_turns::LiveTurns;
pub use agents::CachedAgents;
pub use conversations::CachedConversations;
pub use found_turns::FollowedTurns;
pub(crate) use histories::HistoryCache;
pub use invalidator::CacheInvalidator;
pub use log_progress::LogProgress;
pub use users::CachedUsers;
pub use versioned::VersionedCache;
pub use writes::{AnnouncedCommand, CachedCommand, CachedWrites};

/// The time for which cached entries are trusted after the log was last read.
pub const TRUSTED_FOR: Duration = Duration::from_secs(5);

/// The maximum size of all cached agents, in bytes.
const AGENT_BYTES: u64 = 64 * 1024 * 1024;
/// The expected number of cached agents.
const EXPECTED_AGENTS: usize = 10_000;
/// The maximum size of all cached conversation states, in bytes.
const STATE_BYTES: u64 = 32 * 1024 * 1024;
/// The expected number of cached states.
const EXPECTED_STATES: usize = 100_000;
/// The maximum size of all that is cached of what models are told, in bytes.
const CONTEXT_BYTES: u64 = 16 * 1024 * 1024;
/// The expected number of cached contexts, and of users.
const EXPECTED_CONTEXTS: usize = 20_000;
/// The maximum number of cached names. An entry has at most about 600 bytes.
const MAX_NAMES: usize = 20_000;

/// A cache of agents by tenant and id.
pub type AgentCache = VersionedCache<(TenantId, AgentId), Agent>;
/// A cache of conversation states by tenant and id.
pub type StateCache = VersionedCache<(TenantId, ConversationId), domain::ConversationState>;

/// A cache of what models are told about conversations, by tenant and id.
pub type ContextCache = VersionedCache<(TenantId, ConversationId), Option<Arc<str>>>;
/// A cache of users by tenant and id.
pub type UserCache = VersionedCache<(TenantId, String), Option<Arc<User>>>;

/// A cache of conversations by tenant and name.
pub type NameCache = quick_cache::sync::Cache<(TenantId, ConversationName), ConversationId>;

/// The state that the caching repositories, the writes and the invalidator share.
#[derive(Clone)]
pub struct Caches {
    /// Agents.
    pub agents: Arc<AgentCache>,
    /// Conversation states.
    pub states: Arc<StateCache>,
    /// The contexts of conversations, for models.
    pub contexts: Arc<ContextCache>,
    /// Users.
    pub users: Arc<UserCache>,
    /// The conversations with the names of clients. An entry is used only if its conversation
    /// exists.
    pub names: Arc<NameCache>,
    /// The position up to which this process has applied each tenant's log.
    pub applied: Arc<LogProgress>,
    /// The turns that this process runs or waits for. A deletion stops them.
    pub live: Arc<LiveTurns>,
}

impl Caches {
    /// Creates empty caches. Writes of this process are published on `bus`.
    pub fn new(bus: Arc<dyn EventBus>) -> Self {
        Self {
            agents: Arc::new(VersionedCache::new(AGENT_BYTES, EXPECTED_AGENTS)),
            states: Arc::new(VersionedCache::new(STATE_BYTES, EXPECTED_STATES)),
            contexts: Arc::new(VersionedCache::new(CONTEXT_BYTES, EXPECTED_CONTEXTS)),
            users: Arc::new(VersionedCache::new(CONTEXT_BYTES, EXPECTED_CONTEXTS)),
            names: Arc::new(NameCache::new(MAX_NAMES)),
            applied: Arc::new(LogProgress::new(bus)),
            live: Arc::default(),
        }
    }

    /// Records that a conversation belongs to this user since the change at `position`.
    fn move_conversation(
        &self,
        key: &(TenantId, ConversationId),
        user_id: Option<&str>,
        position: Seq,
    ) {
        self.states.overwrite_changed(key.clone(), position);
        self.live.move_conversation(key, user_id, position);
    }

    /// Updates the metrics of the weight of each cache.
    fn report_weight(&self) {
        weight::report("agents", self.agents.weight());
        weight::report("conversation_heads", self.states.weight());
        weight::report("conversation_contexts", self.contexts.weight());
        weight::report("users", self.users.weight());
    }
}

/// The ports that use cases share: reads come from the caches if possible, and writes keep the caches
/// valid.
#[derive(Clone)]
pub struct CachedPorts {
    /// Agents, from the cache if possible.
    pub agents: Arc<dyn AgentRepository>,
    /// Conversations; their states are read from the cache if possible.
    pub conversations: Arc<dyn ConversationRepository>,
    /// Turns.
    pub turns: Arc<dyn TurnRepository>,
    /// Users, from the cache if possible.
    pub users: Arc<dyn UserRepository>,
    /// Files.
    pub files: Arc<dyn FileRepository>,
    /// The contents of files; `None` if none is stored.
    pub blobs: Option<Arc<dyn BlobStore>>,
    /// Writes, which keep the caches valid.
    pub writes: CachedWrites,
    /// Idempotency records.
    pub idempotency: Arc<dyn IdempotencyRepository>,
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// Ids.
    pub ids: Arc<dyn IdSource>,
}

impl CachedPorts {
    /// Reads what is stored about the user of a conversation, if it has one.
    pub(crate) async fn find_user(
        &self,
        tenant: &TenantId,
        user_id: Option<&str>,
    ) -> Result<Option<Arc<User>>, RepositoryError> {
        match user_id {
            Some(user_id) => Ok(self.users.find(tenant, user_id).await?.value),
            None => Ok(None),
        }
    }

    /// Returns the greeting of an agent for a user, if it has one.
    pub(crate) async fn greeting(
        &self,
        tenant: &TenantId,
        agent: &Agent,
        user_id: Option<&str>,
    ) -> Result<Option<String>, RepositoryError> {
        let Some(greeting) = agent.config.greeting.as_deref() else {
            return Ok(None);
        };
        let user = if placeholder::names_user(greeting) {
            self.find_user(tenant, user_id).await?
        } else {
            None
        };
        let values = PlaceholderValues {
            agent_name: &agent.name,
            user_id,
            user_name: user.as_ref().and_then(|user| user.name.as_deref()),
        };
        Ok(Some(placeholder::fill(greeting, &values).into_owned()))
    }
}
