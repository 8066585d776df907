use cpu_pool::CpuPool;
use domain::Rule;
use futures::future::join_all;

use super::*;
use crate::fixture::{agent, pattern_rule};

async fn load(cache: &CompiledRulesCache, tenant: &TenantId, agent: &Arc<Agent>) -> Arc<Entry> {
    let admission = CpuPool::start().unwrap().admit(tenant).await.unwrap();
    let entry = cache.get_or_compile(tenant, agent, &admission).await;
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
async fn concurrent_callers_get_the_same_rules() {
    let cache = CompiledRulesCache::new();
    let agent = agent_with([pattern_rule("hello", "hi")]);
    let tenant = tenant("default");
    let found = join_all((0..32).map(|_| load(&cache, &tenant, &agent))).await;
    for entry in &found {
        assert!(Arc::ptr_eq(entry, &found[0]));
    }
    assert_eq!(cache.cache.len(), 1);
}

#[tokio::test]
async fn two_changes_with_the_same_version_are_distinguished() {
    let cache = CompiledRulesCache::new();
    let tenant = tenant("default");
    let lost = agent_with([pattern_rule("hello", "lost")]);
    let saved = agent_with([pattern_rule("hello", "saved")]);
    for agent in [&lost, &saved, &lost, &saved] {
        let entry = load(&cache, &tenant, agent).await;
        assert!(entry.is_valid_for(agent));
    }
    let again = Arc::new(Agent::clone(&saved));
    let entry = load(&cache, &tenant, &again).await;
    assert!(
        Arc::ptr_eq(&entry.agent, &saved),
        "the same rules were compiled again"
    );
}

#[tokio::test]
async fn the_cache_stays_within_its_limit() {
    let capacity = 300_000;
    let cache = CompiledRulesCache::with_capacity(capacity);
    let agent = agent_with([pattern_rule("hello", "hi"), pattern_rule("bye", "bye")]);
    for number in 0..50 {
        let tenant = tenant(&format!("t{number}"));
        let entry = load(&cache, &tenant, &agent).await;
        assert!(entry.outcome().is_ok());
        assert!(cache.cache.weight() <= capacity);
    }
    assert!(
        (1..50).contains(&cache.cache.len()),
        "{}",
        cache.cache.len()
    );
}

#[tokio::test]
async fn rules_in_use_count_towards_the_limit() {
    let capacity = 300_000;
    let cache = CompiledRulesCache::with_capacity(capacity);
    let agent = agent_with([pattern_rule("hello", "hi"), pattern_rule("bye", "bye")]);
    let used = load(&cache, &tenant("used"), &agent).await;
    let in_use = Arc::clone(used.outcome().unwrap());
    for number in 0..50 {
        load(&cache, &tenant(&format!("t{number}")), &agent).await;
    }
    assert!(cache.cache.weight() <= capacity);
    let found = cache.get(&tenant("used"), &agent).unwrap();
    assert!(Arc::ptr_eq(found.outcome().unwrap(), &in_use));
}

#[test]
fn the_largest_rules_fit_into_the_cache() {
    let agent = agent_with([]);
    let largest = u64::try_from(CompiledRules::MAX_BYTES + agent.memory_bytes()).unwrap();
    // Besides the rules there are at most a few hundred KiB of text, and the hot part is 97 %.
    assert!(largest + 2 * 1024 * 1024 < MAX_CACHE_BYTES / 100 * 97);
}
