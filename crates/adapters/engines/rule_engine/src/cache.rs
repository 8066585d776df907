//! A cache of compiled rules by agent and version, limited in bytes.

use std::sync::Arc;

use cpu_pool::{Admission, PoolError};
use domain::{Agent, AgentId, InputFault, MemorySize as _, TenantId};
use quick_cache::{DefaultHashBuilder, Lifecycle, Options, OptionsBuilder, Weighter, sync::Cache};

use crate::compiled_rules::{Compilation, CompiledRules};

/// The maximum size of all entries, in bytes.
const MAX_CACHE_BYTES: u64 = 64 * 1024 * 1024;
/// The approximate number of agents in use at the same time.
const EXPECTED_AGENTS: usize = 2_000;

/// A cache that compiles each missing entry once, however many callers wait for it.
#[derive(Debug)]
pub(crate) struct CompiledRulesCache {
    cache: Cache<Key, Arc<Entry>, ByBytes, DefaultHashBuilder, PinnedInUse>,
}

type Key = (TenantId, AgentId, i64);

/// The outcome of a compilation. Faults are kept, too, so that invalid stored rules are not
/// compiled for every message.
#[derive(Debug)]
pub(crate) struct Entry {
    agent: Arc<Agent>,
    outcome: Result<Arc<CompiledRules>, Vec<InputFault>>,
}

#[derive(Debug, Clone)]
struct ByBytes;

impl Weighter<Key, Arc<Entry>> for ByBytes {
    fn weight(&self, _key: &Key, entry: &Arc<Entry>) -> u64 {
        entry.bytes() as u64
    }
}

/// Keeps entries that are in use: if they were evicted, their memory would not be counted.
#[derive(Debug, Clone)]
struct PinnedInUse;

impl Lifecycle<Key, Arc<Entry>> for PinnedInUse {
    type RequestState = ();

    fn is_pinned(&self, _key: &Key, entry: &Arc<Entry>) -> bool {
        let rules = entry.outcome.as_ref();
        rules.is_ok_and(|rules| Arc::strong_count(rules) > 1)
    }
}

impl CompiledRulesCache {
    pub(crate) fn new() -> Self {
        Self::with_capacity(MAX_CACHE_BYTES)
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

    /// Returns the rules of exactly this agent if they need no or little work.
    pub(crate) fn get(&self, tenant: &TenantId, agent: &Arc<Agent>) -> Option<Arc<Entry>> {
        if agent.config.rules.as_ref().is_none_or(Vec::is_empty) {
            return Some(Arc::new(Entry::new(
                Arc::clone(agent),
                CompiledRules::compile(agent),
            )));
        }
        let key = (tenant.clone(), agent.id, agent.version);
        self.cache
            .get(&key)
            .filter(|entry| entry.is_valid_for(agent))
    }

    /// Returns the rules of exactly this agent. A version does not identify them: two changes may
    /// be prepared as the same next version, of which only one is saved.
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
        if entry.is_valid_for(agent) {
            return Ok(entry);
        }
        let is_that = |held: &Arc<Entry>| Arc::ptr_eq(held, &entry);
        self.cache.remove_if(&key, is_that);
        let entry = load().await?;
        if entry.is_valid_for(agent) {
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

/// One shard, because a shard accepts no entry heavier than its share.
fn options(bytes: u64) -> Options {
    OptionsBuilder::new()
        .shards(1)
        .estimated_items_capacity(EXPECTED_AGENTS)
        .weight_capacity(bytes)
        .build()
        .unwrap_or_else(|_| unreachable!("both capacities are set"))
}

impl Entry {
    fn new(agent: Arc<Agent>, outcome: Result<CompiledRules, Vec<InputFault>>) -> Self {
        Self {
            agent,
            outcome: outcome.map(Arc::new),
        }
    }

    pub(crate) fn outcome(&self) -> Result<&Arc<CompiledRules>, &[InputFault]> {
        self.outcome.as_ref().map_err(Vec::as_slice)
    }

    /// Returns whether the entry is valid for `agent`: all inputs are the same.
    fn is_valid_for(&self, agent: &Arc<Agent>) -> bool {
        Arc::ptr_eq(&self.agent, agent)
            || (self.agent.config.rules == agent.config.rules
                && self.agent.config.fallback_reply == agent.config.fallback_reply
                && self.agent.capabilities == agent.capabilities)
    }

    fn bytes(&self) -> usize {
        let compiled = match &self.outcome {
            Ok(rules) => rules.bytes(),
            Err(faults) => faults.iter().map(|fault| fault.detail.len() + 128).sum(),
        };
        size_of::<Self>() + compiled + self.agent.memory_bytes()
    }
}

#[cfg(test)]
mod tests;
