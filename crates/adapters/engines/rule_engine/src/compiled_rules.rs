//! The compiled rules of an agent.

mod compilation;

use std::{mem, sync::Arc, task::Poll, time::Duration};

use cpu_pool::TimeSlice;
use domain::{Agent, InputFault};
use parking_lot::Mutex;

pub(crate) use self::compilation::Compilation;
use crate::{
    call::CallTemplate,
    keywords::{FoldedText, Keyword},
    pattern::{Captures, Pattern, PatternMemory},
    template::Template,
};

/// The number of memories that are kept for reuse. More concurrent searches allocate their own.
const MAX_SPARE_MEMORY: usize = 2;

/// The active rules of an agent, highest priority first.
#[derive(Debug)]
pub(crate) struct CompiledRules {
    rules: Box<[CompiledRule]>,
    has_rules: bool,
    fallback: Option<Template>,
    spare_memory: Mutex<Vec<SearchMemory>>,
    bytes: usize,
}

/// The working memory of one search.
#[derive(Debug)]
pub(crate) struct SearchMemory {
    /// By the indices of the rules.
    patterns: Vec<PatternMemory>,
    /// The number of keywords of the current rule that were found already.
    found_keywords: usize,
}

#[derive(Debug)]
struct CompiledRule {
    /// The index in the agent's list of rules.
    index: usize,
    matcher: Matcher,
    replies: Box<[Template]>,
    /// Made before the reply.
    call: Option<Box<CallTemplate>>,
}

#[derive(Debug)]
enum Matcher {
    Pattern(Box<Pattern>),
    /// All keywords must occur.
    Keywords(Box<[Keyword]>),
}

/// The reason why a message does not match a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mismatch {
    /// The pattern does not occur.
    Pattern,
    /// The keyword with this index does not occur.
    Keyword(usize),
}

impl CompiledRules {
    /// The maximum size in bytes, which fits into the cache. Larger rules would be compiled again
    /// for every message.
    pub(crate) const MAX_BYTES: usize = 48 * 1024 * 1024;

    /// Compiles an agent's rules without pauses.
    pub(crate) fn compile(agent: &Arc<Agent>) -> Result<Self, Vec<InputFault>> {
        let mut compilation = Compilation::new(Arc::clone(agent));
        loop {
            if let Poll::Ready(result) = compilation.advance(TimeSlice::new(Duration::MAX)) {
                return result;
            }
        }
    }

    /// The number of active rules.
    pub(crate) fn len(&self) -> usize {
        self.rules.len()
    }

    /// Returns the index of an active rule in the agent's list of rules.
    pub(crate) fn index_in_agent(&self, index: usize) -> usize {
        self.rules[index].index
    }

    /// Returns whether the agent has rules, including inactive ones.
    pub(crate) fn has_rules(&self) -> bool {
        self.has_rules
    }

    /// The agent's own reply if no rule matches.
    pub(crate) fn fallback(&self) -> Option<&Template> {
        self.fallback.as_ref()
    }

    /// The maximum size in bytes between searches.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Tries one rule. Pending if the slice is over. `folded` returns the message in folded form.
    pub(crate) fn try_rule<'a>(
        &self,
        index: usize,
        memory: &mut SearchMemory,
        message: &str,
        folded: impl FnOnce() -> &'a FoldedText,
        slice: TimeSlice,
    ) -> Poll<Result<Captures, Mismatch>> {
        match &self.rules[index].matcher {
            Matcher::Pattern(pattern) => pattern
                .find(&mut memory.patterns[index], message, slice)
                .map(|found| found.ok_or(Mismatch::Pattern)),
            Matcher::Keywords(keywords) => {
                let folded = folded();
                let found_before = mem::take(&mut memory.found_keywords);
                for (index, keyword) in keywords.iter().enumerate().skip(found_before) {
                    if index > found_before && slice.is_over() {
                        memory.found_keywords = index;
                        return Poll::Pending;
                    }
                    if !keyword.occurs_in(folded) {
                        return Poll::Ready(Err(Mismatch::Keyword(index)));
                    }
                }
                Poll::Ready(Ok(Captures::new()))
            }
        }
    }

    /// Returns the reply of a rule for the turn with this number: its replies are used in turn.
    pub(crate) fn reply(&self, index: usize, turn_number: i64) -> Option<&Template> {
        let replies = &self.rules[index].replies;
        let count = i64::try_from(replies.len()).ok()?;
        let turn = usize::try_from(turn_number.checked_rem_euclid(count)?).ok()?;
        replies.get(turn)
    }

    /// Returns the tool call of a rule, if it has one.
    pub(crate) fn call(&self, index: usize) -> Option<&CallTemplate> {
        self.rules[index].call.as_deref()
    }

    /// Takes the memory for a search from the pool.
    pub(crate) fn acquire_memory(&self) -> SearchMemory {
        let mut spare = self.spare_memory.lock();
        spare.pop().unwrap_or_else(|| {
            let patterns = self.rules.iter().map(|_| PatternMemory::default());
            SearchMemory {
                patterns: patterns.collect(),
                found_keywords: 0,
            }
        })
    }

    /// Returns the memory of a search to the pool.
    pub(crate) fn release_memory(&self, memory: SearchMemory) {
        let mut spare = self.spare_memory.lock();
        if spare.len() < MAX_SPARE_MEMORY {
            spare.push(memory);
        }
    }
}
