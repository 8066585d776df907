//! The reply engine that needs no network and no key: it answers by an agent's rules, and holds a
//! small conversation of its own where they say nothing.
//!
//! Everything is deterministic: the same agent, message and turn number give the same answer.
//!
//! An agent's rules are compiled into a rule book: patterns by `pattern`, keywords by
//! `keywords`, answers by `template`. That is work of milliseconds for an agent with many
//! rules, so it happens on a [`cpu_pool::CpuPool`], off the async threads, when the agent is saved, and
//! the book is kept in a `cache` weighed in bytes. A `search` then tries the rules one by one: on
//! the caller's thread for a millisecond, then on the pool.
//! To add a way to match, add a variant to `rule_book::Matcher`; to add a placeholder, one to
//! `template::Value`. The answer streams as `deltas`.

mod answer;
mod cache;
mod deltas;
mod engine;
mod keywords;
mod pattern;
mod rule_book;
mod search;
mod small_talk;
mod template;
mod topic;

#[cfg(test)]
mod samples;

pub use engine::RuleReplyEngine;
