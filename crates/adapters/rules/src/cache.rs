//! Rule books by agent and version, weighed in bytes.

use std::sync::Arc;

use cpu_pool::{Admission, PoolError};
use domain::{Agent, AgentId, Fault, MemorySize as _, TenantId};
use quick_cache::{DefaultHashBuilder, Lifecycle, Options, OptionsBuilder, Weighter, sync::Cache};

use crate::rule_book::{Compilation, RuleBook};

/// Most bytes of all books together.
const CACHE_BYTES: u64 = 64 * 1024 * 1024;
/// Roughly how many agents are in use at a time.
const EXPECTED_AGENTS: usize = 2_000;

/// The cache: bounded however many agents there are, and compiling what it lacks once however
/// many ask for it at a time.
#[derive(Debug)]
pub(crate) struct RuleBooks {
    cache: Cache<Key, Arc<Entry>, ByBytes, DefaultHashBuilder, PinnedInUse>,
}

type Key = (TenantId, AgentId, i64);

/// What became of an agent's rules. Faults are kept too, so that an agent whose stored rules no
/// longer compile does not cost a compilation with every message.
#[derive(Debug)]
pub(crate) struct Entry {
    agent: Arc<Agent>,
    outcome: Result<Arc<RuleBook>, Vec<Fault>>,
}

#[derive(Debug, Clone)]
struct ByBytes;

impl Weighter<Key, Arc<Entry>> for ByBytes {
    fn weight(&self, _key: &Key, entry: &Arc<Entry>) -> u64 {
        entry.bytes() as u64
    }
}

/// Keeps books that are in use, so that they count: one that was dropped from the cache would
/// take memory beside it.
#[derive(Debug, Clone)]
struct PinnedInUse;

impl Lifecycle<Key, Arc<Entry>> for PinnedInUse {
    type RequestState = ();

    fn is_pinned(&self, _key: &Key, entry: &Arc<Entry>) -> bool {
        let book = entry.outcome.as_ref();
        book.is_ok_and(|book| Arc::strong_count(book) > 1)
    }
}

impl RuleBooks {
    pub(crate) fn new() -> Self {
        Self::with_capacity(CACHE_BYTES)
    }

    fn with_capacity(bytes: u64) -> Self {
        let cache = Cache::with_options(
            options(bytes),
            ByBytes,
            DefaultHashBuilder::default(),
            PinnedInUse,
        );
        Self { cache }
    }

    /// The book of this very agent, if it is at hand without much work.
    pub(crate) fn get(&self, tenant: &TenantId, agent: &Arc<Agent>) -> Option<Arc<Entry>> {
        if agent.config.rules.as_ref().is_none_or(Vec::is_empty) {
            return Some(Arc::new(Entry::new(
                Arc::clone(agent),
                RuleBook::compile(agent),
            )));
        }
        let key = (tenant.clone(), agent.id, agent.version);
        self.cache.get(&key).filter(|entry| entry.is_of(agent))
    }

    /// The book of this very agent. A version alone does not name it: two changes may be prepared
    /// as the same next version, and only one of them is saved.
    pub(crate) async fn get_or_compile(
        &self,
        tenant: &TenantId,
        agent: &Arc<Agent>,
        admission: &Admission,
    ) -> Result<Arc<Entry>, PoolError> {
        let key = (tenant.clone(), agent.id, agent.version);
        let load = async || {
            let compilation = compile(agent, admission);
            let entry = self.cache.get_or_insert_async(&key, compilation).await;
            let bytes = u32::try_from(self.cache.weight()).map_or(f64::MAX, f64::from);
            metrics::gauge!("cache_bytes", "cache" => "rules").set(bytes);
            entry
        };
        let entry = load().await?;
        if entry.is_of(agent) {
            return Ok(entry);
        }
        let is_that = |held: &Arc<Entry>| Arc::ptr_eq(held, &entry);
        self.cache.remove_if(&key, is_that);
        let entry = load().await?;
        if entry.is_of(agent) {
            return Ok(entry);
        }
        compile(agent, admission).await
    }
}

async fn compile(agent: &Arc<Agent>, admission: &Admission) -> Result<Arc<Entry>, PoolError> {
    let mut compilation = Compilation::new(Arc::clone(agent));
    let job = move |slice| compilation.advance(slice);
    let outcome = admission.run(job).await?;
    Ok(Arc::new(Entry::new(Arc::clone(agent), outcome)))
}

/// One shard, because a shard takes no entry heavier than itself.
fn options(bytes: u64) -> Options {
    OptionsBuilder::new()
        .shards(1)
        .estimated_items_capacity(EXPECTED_AGENTS)
        .weight_capacity(bytes)
        .build()
        .unwrap_or_else(|_| unreachable!("both capacities are set"))
}

impl Entry {
    fn new(agent: Arc<Agent>, outcome: Result<RuleBook, Vec<Fault>>) -> Self {
        Self {
            agent,
            outcome: outcome.map(Arc::new),
        }
    }

    pub(crate) fn outcome(&self) -> Result<&Arc<RuleBook>, &[Fault]> {
        self.outcome.as_ref().map_err(Vec::as_slice)
    }

    /// Whether the book holds for `agent`: everything that goes into it is the same.
    fn is_of(&self, agent: &Arc<Agent>) -> bool {
        Arc::ptr_eq(&self.agent, agent)
            || (self.agent.config.rules == agent.config.rules
                && self.agent.config.fallback_reply == agent.config.fallback_reply
                && self.agent.capabilities == agent.capabilities)
    }

    fn bytes(&self) -> usize {
        let compiled = match &self.outcome {
            Ok(book) => book.bytes(),
            Err(faults) => faults.iter().map(|fault| fault.detail.len() + 128).sum(),
        };
        size_of::<Self>() + compiled + self.agent.memory_bytes()
    }
}

#[cfg(test)]
mod tests {
    use cpu_pool::CpuPool;
    use domain::Rule;
    use futures::future::join_all;

    use super::*;
    use crate::samples::{agent, pattern_rule};

    async fn load(books: &RuleBooks, tenant: &TenantId, agent: &Arc<Agent>) -> Arc<Entry> {
        let admission = CpuPool::start().unwrap().admit(tenant).await.unwrap();
        let entry = books.get_or_compile(tenant, agent, &admission).await;
        entry.unwrap()
    }

    fn agent_with(rules: impl Into<Vec<Rule>>) -> Arc<Agent> {
        let mut agent = agent();
        agent.config.rules = Some(rules.into());
        Arc::new(agent)
    }

    fn tenant(name: &str) -> TenantId {
        name.parse().unwrap()
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn many_who_ask_at_once_get_the_same_book() {
        let books = RuleBooks::new();
        let agent = agent_with([pattern_rule("hello", "hi")]);
        let tenant = tenant("default");
        let found = join_all((0..32).map(|_| load(&books, &tenant, &agent))).await;
        for entry in &found {
            assert!(Arc::ptr_eq(entry, &found[0]));
        }
        assert_eq!(books.cache.len(), 1);
    }

    #[tokio::test]
    async fn two_changes_of_the_same_version_are_told_apart() {
        let books = RuleBooks::new();
        let tenant = tenant("default");
        let lost = agent_with([pattern_rule("hello", "lost")]);
        let saved = agent_with([pattern_rule("hello", "saved")]);
        for agent in [&lost, &saved, &lost, &saved] {
            let entry = load(&books, &tenant, agent).await;
            assert!(entry.is_of(agent));
        }
        let again = Arc::new(Agent::clone(&saved));
        let entry = load(&books, &tenant, &again).await;
        assert!(
            Arc::ptr_eq(&entry.agent, &saved),
            "the same rules were compiled again"
        );
    }

    #[tokio::test]
    async fn stays_within_its_bytes_however_many_agents_there_are() {
        let capacity = 300_000;
        let books = RuleBooks::with_capacity(capacity);
        let agent = agent_with([pattern_rule("hello", "hi"), pattern_rule("bye", "bye")]);
        for number in 0..50 {
            let tenant = tenant(&format!("t{number}"));
            let entry = load(&books, &tenant, &agent).await;
            assert!(entry.outcome().is_ok());
            assert!(books.cache.weight() <= capacity);
        }
        assert!(
            (1..50).contains(&books.cache.len()),
            "{}",
            books.cache.len()
        );
    }

    #[tokio::test]
    async fn books_in_use_count_against_its_bytes() {
        let capacity = 300_000;
        let books = RuleBooks::with_capacity(capacity);
        let agent = agent_with([pattern_rule("hello", "hi"), pattern_rule("bye", "bye")]);
        let used = load(&books, &tenant("used"), &agent).await;
        let in_use = Arc::clone(used.outcome().unwrap());
        for number in 0..50 {
            load(&books, &tenant(&format!("t{number}")), &agent).await;
        }
        assert!(books.cache.weight() <= capacity);
        let found = books.get(&tenant("used"), &agent).unwrap();
        assert!(Arc::ptr_eq(found.outcome().unwrap(), &in_use));
    }

    #[test]
    fn the_largest_book_allowed_is_kept() {
        let agent = agent_with([]);
        let largest = u64::try_from(RuleBook::MOST_BYTES + agent.memory_bytes()).unwrap();
        // Beside the rules stand at most a few hundred KiB of text, and the hot part is 97 %.
        assert!(largest + 2 * 1024 * 1024 < CACHE_BYTES / 100 * 97);
    }
}
