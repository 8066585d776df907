//! A reply engine that needs no network and no key: it replies by an agent's rules, with small talk
//! where no rule matches.
//!
//! Everything is deterministic: the same agent, message and turn number give the same reply.
//!
//! An agent's rules are compiled (`compiled_rules`): patterns by `pattern`, keywords by `keywords`,
//! replies by `template`. That takes milliseconds for an agent with many rules, so it happens on a
//! [`cpu_pool::CpuPool`], off the async threads, when the agent is saved. The result is kept in a
//! `cache` that is limited in bytes. A `search` tries the rules one by one: on the caller's thread
//! for a millisecond, then on the pool. The whole reply is one delta. The `call` of a rule is sent to the
//! agent loop, which makes it, and asks again with its result.
//!
//! To add a kind of match, add a variant to `compiled_rules::Matcher`; to add a placeholder, add
//! one to `template::Value`.

mod cache;
mod call;
mod compiled_rules;
mod engine;
mod keywords;
mod pattern;
mod reply;
mod report;
mod search;
mod small_talk;
mod template;
mod topic;

#[cfg(test)]
mod fixture;

pub use engine::RuleReplyEngine;
