//! The report of a finished search, for a test of rules.

use domain::{Rule, RuleOutcome, RuleResult, RuleTest};

use crate::{
    compiled_rules::Mismatch,
    reply::{choose_reply, find_call},
    search::{Match, Search},
};

/// The result of a call that is not made, in a reply.
const NO_RESULT: &str = "{{result}}";

/// Returns the reply for a search that recorded its mismatches, and the result of every rule.
pub(crate) fn report(search: &Search, found: Option<&Match>) -> RuleTest {
    let (source, reply) = choose_reply(search, found, NO_RESULT);
    let rules = search.request.agent.config.rules.as_deref();
    let mut results: Vec<RuleResult> = (0..)
        .zip(rules.unwrap_or_default())
        .map(|(index, rule)| inactive(index, rule))
        .collect();
    for position in 0..search.rules.len() {
        let result = &mut results[search.rules.index_in_agent(position)];
        result.capability = None;
        result.outcome = match search.mismatches().get(position) {
            Some(Mismatch::Pattern) => RuleOutcome::PatternNotFound,
            Some(Mismatch::Keyword(keyword)) => {
                let keywords = rules.and_then(|rules| rules[result.index].keywords.as_ref());
                result.keyword = keywords.and_then(|keywords| keywords.get(*keyword).cloned());
                RuleOutcome::MissingKeyword
            }
            None if found.is_some_and(|found| found.index == position) => RuleOutcome::Matched,
            None => RuleOutcome::Later,
        };
    }
    RuleTest {
        finish_reason: reply.finish_reason(),
        reply: reply.text,
        call: found.and_then(|found| find_call(search, found)),
        source,
        matched_rule: found.map(|found| search.rules.index_in_agent(found.index)),
        rules: results,
    }
}

/// The result of a rule that is not among the active ones.
fn inactive(index: usize, rule: &Rule) -> RuleResult {
    RuleResult {
        index,
        name: rule.name.clone(),
        outcome: RuleOutcome::MissingCapability,
        keyword: None,
        capability: rule.capability.clone(),
    }
}
