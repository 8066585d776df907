//! Rule books by agent and version, weighed in bytes.

use std::sync::Arc;

use domain::{Agent, AgentId, Fault, TenantId};
use quick_cache::{
    DefaultHashBuilder, Options, OptionsBuilder, Weighter,
    sync::{Cache, DefaultLifecycle},
};

use crate::{
    rule_book::RuleBook,
    workbench::{Interrupted, Workbench},
};

/// Most bytes of all books together.
const CACHE_BYTES: u64 = 64 * 1024 * 1024;
/// Roughly how many agents are in use at a time.
const EXPECTED_AGENTS: usize = 2_000;

/// The cache: bounded however many agents there are, and compiling what it lacks once however
/// many ask for it at a time.
#[derive(Debug)]
pub(crate) struct RuleBooks {
    cache: Cache<Key, Arc<Entry>, ByBytes>,
    workbench: Arc<Workbench>,
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

impl RuleBooks {
    pub(crate) fn new(workbench: Arc<Workbench>) -> Self {
        Self::with_capacity(workbench, CACHE_BYTES)
    }

    fn with_capacity(workbench: Arc<Workbench>, bytes: u64) -> Self {
        let cache = Cache::with_options(
            options(bytes),
            ByBytes,
            DefaultHashBuilder::default(),
            DefaultLifecycle::default(),
        );
        Self { cache, workbench }
    }

    /// The book of this very agent. A version alone does not name it: two changes may be prepared
    /// as the same next version, and only one of them is saved.
    pub(crate) async fn of(
        &self,
        tenant: &TenantId,
        agent: &Arc<Agent>,
    ) -> Result<Arc<Entry>, Interrupted> {
        if agent.config.rules.as_ref().is_none_or(Vec::is_empty) {
            return Ok(Arc::new(Entry::compile(Arc::clone(agent))));
        }
        let key = (tenant.clone(), agent.id, agent.version);
        let entry = self.get_or_compile(&key, agent).await?;
        if entry.is_of(agent) {
            return Ok(entry);
        }
        let is_that = |held: &Arc<Entry>| Arc::ptr_eq(held, &entry);
        self.cache.remove_if(&key, is_that);
        let entry = self.get_or_compile(&key, agent).await?;
        if entry.is_of(agent) {
            return Ok(entry);
        }
        self.compile(agent).await
    }

    async fn get_or_compile(
        &self,
        key: &Key,
        agent: &Arc<Agent>,
    ) -> Result<Arc<Entry>, Interrupted> {
        self.cache
            .get_or_insert_async(key, self.compile(agent))
            .await
    }

    async fn compile(&self, agent: &Arc<Agent>) -> Result<Arc<Entry>, Interrupted> {
        let agent = Arc::clone(agent);
        let entry = self.workbench.run(|| Entry::compile(agent)).await?;
        Ok(Arc::new(entry))
    }
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
    fn compile(agent: Arc<Agent>) -> Self {
        let outcome = RuleBook::compile(&agent).map(Arc::new);
        Self { agent, outcome }
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
        size_of::<Self>() + compiled + agent_bytes(&self.agent)
    }
}

/// Bytes of what can be large in an agent.
fn agent_bytes(agent: &Agent) -> usize {
    let config = &agent.config;
    let rules = config.rules.iter().flatten().map(|rule| {
        let keywords = rule.keywords.iter().flatten();
        let texts = rule.answers().iter().chain(keywords).chain(&rule.pattern);
        size_of_val(rule)
            + texts
                .map(|text| size_of_val(text) + text.len())
                .sum::<usize>()
    });
    let capabilities = agent.capabilities.iter();
    let texts = [
        &config.instructions,
        &config.greeting,
        &config.fallback_reply,
    ];
    size_of_val(agent)
        + agent.personality.len()
        + rules.sum::<usize>()
        + capabilities
            .map(|text| size_of_val(text) + text.len())
            .sum::<usize>()
        + texts.into_iter().flatten().map(String::len).sum::<usize>()
}

#[cfg(test)]
mod tests {
    use domain::Rule;
    use futures::future::join_all;

    use super::*;
    use crate::samples::{agent, pattern_rule};

    fn books(capacity: u64) -> RuleBooks {
        RuleBooks::with_capacity(Arc::new(Workbench::new()), capacity)
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
        let books = books(CACHE_BYTES);
        let agent = agent_with([pattern_rule("hello", "hi")]);
        let tenant = tenant("default");
        let found = join_all((0..32).map(|_| books.of(&tenant, &agent))).await;
        let first = found[0].as_ref().unwrap();
        for entry in &found {
            assert!(Arc::ptr_eq(entry.as_ref().unwrap(), first));
        }
        assert_eq!(books.cache.len(), 1);
    }

    #[tokio::test]
    async fn two_changes_of_the_same_version_are_told_apart() {
        let books = books(CACHE_BYTES);
        let tenant = tenant("default");
        let lost = agent_with([pattern_rule("hello", "lost")]);
        let saved = agent_with([pattern_rule("hello", "saved")]);
        for agent in [&lost, &saved, &lost, &saved] {
            let entry = books.of(&tenant, agent).await.unwrap();
            assert!(entry.is_of(agent));
        }
        let again = Arc::new(Agent::clone(&saved));
        let entry = books.of(&tenant, &again).await.unwrap();
        assert!(
            Arc::ptr_eq(&entry.agent, &saved),
            "the same rules were compiled again"
        );
    }

    #[tokio::test]
    async fn stays_within_its_bytes_however_many_agents_there_are() {
        let capacity = 300_000;
        let books = books(capacity);
        let agent = agent_with([pattern_rule("hello", "hi"), pattern_rule("bye", "bye")]);
        for number in 0..50 {
            let tenant = tenant(&format!("t{number}"));
            let entry = books.of(&tenant, &agent).await.unwrap();
            assert!(entry.outcome().is_ok());
            assert!(books.cache.weight() <= capacity);
        }
        assert!(
            (1..50).contains(&books.cache.len()),
            "{}",
            books.cache.len()
        );
    }

    #[test]
    fn the_largest_book_allowed_is_kept() {
        let agent = agent_with([]);
        let largest = u64::try_from(RuleBook::MOST_BYTES + agent_bytes(&agent)).unwrap();
        // Beside the rules stand at most a few hundred KiB of text, and the hot part is 97 %.
        assert!(largest + 2 * 1024 * 1024 < CACHE_BYTES / 100 * 97);
    }
}
