//! Patterns: regular expressions with a limit on memory, whose searches can pause.
//!
//! A search reads the message with a lazy DFA (`dfa_search`). If that gives up or groups are
//! needed, it simulates the NFA (`nfa_search`). Both can pause within a message, so no pattern
//! blocks a thread for long.

mod dfa_search;
mod nfa_search;

use std::{mem, ops::Range, task::Poll};

use cpu_pool::TimeSlice;
use regex_automata::{
    MatchKind, PatternID,
    hybrid::dfa::{Cache, Config, DFA},
    nfa::thompson::{self, Compiler, NFA, WhichCaptures},
    util::{prefilter::Prefilter, syntax},
};

use dfa_search::{DfaOutcome, DfaSearch};
use nfa_search::NfaSearch;

/// The maximum number of characters of a pattern.
const MAX_SOURCE_CHARS: usize = 512;
/// The maximum size of a compiled pattern in bytes, as crate `regex` counts its `size_limit`.
const MAX_COMPILED_BYTES: usize = 64 * 1024;
/// The maximum nesting of a pattern.
const MAX_NESTING: u32 = 32;
/// The maximum size of the lazily built automaton in bytes. With half of it, patterns with a
/// Unicode class and little literal text fall back to an engine that is a thousand times slower.
const MAX_AUTOMATON_BYTES: usize = 64 * 1024;
/// The lazy DFA gives up after this number of cleared caches, if it has since built a state for
/// every few bytes, fewer than the second limit. Crate `regex` uses the same values.
const MIN_CACHE_CLEARS: usize = 3;
const MIN_BYTES_PER_STATE: usize = 10;
/// The memory of a compiled pattern that it does not count itself; measured and rounded up.
const UNCOUNTED_BYTES: usize = 8 * 1024;
/// The maximum growth of a pattern's memory after the warm-up. Larger memory is freed.
const MAX_GROWTH_BYTES: usize = 8 * 1024;

/// Ordinary words, digits, punctuation and a few characters beyond ASCII: typical input for the
/// automata.
const WARM_UP_TEXT: &str = "Hello! Could you tell me how my order no. 12-345 is doing, please? I \
    paid 49.90 € on 3 May; my e-mail is zoë.müller@example.com. Thanks – it's urgent. Привет, 你好";

/// A compiled pattern.
#[derive(Debug)]
pub(crate) struct Pattern {
    nfa: NFA,
    /// Missing if the pattern is too large for it, or can match the empty string: only the NFA
    /// avoids matches within a character.
    dfa: Option<DFA>,
    prefilter: Option<Prefilter>,
    keeps_captures: bool,
    kept_bytes: usize,
}

/// The working memory of one search of one pattern: the states of the DFA, and a paused
/// search.
#[derive(Debug, Default)]
pub(crate) struct PatternMemory {
    cache: Option<Cache>,
    search: PatternSearch,
}

/// A search, at the position that it has reached.
#[derive(Debug, Default)]
enum PatternSearch {
    #[default]
    NotStarted,
    /// From the first candidate position on.
    Dfa(usize, DfaSearch),
    Nfa(Box<NfaSearch>),
}

/// The position of each group in bytes of the message; the first is the whole match. Empty if the
/// pattern keeps no captures.
pub(crate) type Captures = Vec<Option<Range<usize>>>;

impl Pattern {
    /// Compiles `source`, ignoring case. With `keeps_captures` the pattern finds its groups, and is
    /// larger. The error is one line.
    pub(crate) fn compile(source: &str, keeps_captures: bool) -> Result<Self, String> {
        if source.chars().count() > MAX_SOURCE_CHARS {
            return Err(format!("has more than {MAX_SOURCE_CHARS} characters"));
        }
        let syntax = syntax::Config::new()
            .case_insensitive(true)
            .nest_limit(MAX_NESTING);
        let parsed = syntax::parse_with(source, &syntax);
        let parsed = parsed.map_err(|error| last_line(&error.to_string()))?;
        let captures = if keeps_captures {
            WhichCaptures::All
        } else {
            WhichCaptures::None
        };
        let config = thompson::Config::new()
            .which_captures(captures)
            .nfa_size_limit(Some(MAX_COMPILED_BYTES));
        let nfa = Compiler::new().configure(config).build_from_hir(&parsed);
        let nfa = nfa.map_err(|error| reason(&error))?;
        let prefilter = Prefilter::from_hir_prefix(MatchKind::LeftmostFirst, &parsed)
            .filter(Prefilter::is_fast);
        let mut pattern = Self {
            dfa: lazy_dfa(&nfa, prefilter.is_some()),
            nfa,
            prefilter,
            keeps_captures,
            kept_bytes: 0,
        };
        pattern.warm_up();
        Ok(pattern)
    }

    fn warm_up(&mut self) {
        let Some(dfa) = &self.dfa else { return };
        let mut cache = dfa.create_cache();
        // Without the prefilter, which would skip the whole text.
        if let Some(mut search) = DfaSearch::new(dfa, &mut cache, WARM_UP_TEXT, 0) {
            let slice = TimeSlice::new(std::time::Duration::MAX);
            let _ = search.advance(dfa, &mut cache, None, WARM_UP_TEXT, slice);
        }
        self.kept_bytes = cache.memory_usage() + MAX_GROWTH_BYTES;
    }

    /// Finds the pattern in `message`. Pending if the slice is over: call it again with the same
    /// memory and message to continue.
    pub(crate) fn find(
        &self,
        memory: &mut PatternMemory,
        message: &str,
        slice: TimeSlice,
    ) -> Poll<Option<Captures>> {
        let found = self.search(memory, message, slice);
        let cache = memory.cache.as_ref();
        if found.is_ready() && cache.is_some_and(|it| it.memory_usage() > self.kept_bytes) {
            memory.cache = None;
        }
        found
    }

    fn search(
        &self,
        memory: &mut PatternMemory,
        message: &str,
        slice: TimeSlice,
    ) -> Poll<Option<Captures>> {
        let prefilter = self.prefilter.as_ref();
        loop {
            memory.search = match mem::take(&mut memory.search) {
                PatternSearch::NotStarted => {
                    let Some(first) = next_candidate(prefilter, message, 0) else {
                        return Poll::Ready(None);
                    };
                    self.begin(&mut memory.cache, message, first)
                }
                PatternSearch::Dfa(first, mut search) => {
                    let (Some(dfa), Some(cache)) = (&self.dfa, &mut memory.cache) else {
                        unreachable!("a search with the DFA has a DFA and a cache");
                    };
                    match search.advance(dfa, cache, prefilter, message, slice) {
                        Poll::Pending => {
                            memory.search = PatternSearch::Dfa(first, search);
                            return Poll::Pending;
                        }
                        Poll::Ready(DfaOutcome::NoMatch) => return Poll::Ready(None),
                        Poll::Ready(DfaOutcome::Match) if !self.keeps_captures => {
                            return Poll::Ready(Some(Captures::new()));
                        }
                        Poll::Ready(DfaOutcome::Match | DfaOutcome::GaveUp) => self.by_nfa(first),
                    }
                }
                PatternSearch::Nfa(mut search) => {
                    let found = search.advance(&self.nfa, prefilter, message, slice);
                    if found.is_pending() {
                        memory.search = PatternSearch::Nfa(search);
                    }
                    return found;
                }
            }
        }
    }

    /// Starts a search at the first position where the pattern can match.
    fn begin(&self, cache: &mut Option<Cache>, message: &str, first: usize) -> PatternSearch {
        let Some(dfa) = &self.dfa else {
            return self.by_nfa(first);
        };
        let cache = cache.get_or_insert_with(|| dfa.create_cache());
        match DfaSearch::new(dfa, cache, message, first) {
            Some(search) => PatternSearch::Dfa(first, search),
            None => self.by_nfa(first),
        }
    }

    fn by_nfa(&self, first: usize) -> PatternSearch {
        PatternSearch::Nfa(Box::new(NfaSearch::new(
            &self.nfa,
            first,
            self.keeps_captures,
        )))
    }

    /// Returns the number of the group that a placeholder names: its number or its name.
    pub(crate) fn group(&self, name: &str) -> Option<usize> {
        let groups = self.nfa.group_info();
        let pattern = PatternID::ZERO;
        if name.bytes().all(|byte| byte.is_ascii_digit()) {
            let number = name.parse().ok()?;
            return (number < groups.group_len(pattern)).then_some(number);
        }
        groups.to_index(pattern, name)
    }

    /// The size of the compiled pattern in bytes, without working memory.
    pub(crate) fn compiled_bytes(&self) -> usize {
        let dfa = self.dfa.as_ref().map_or(0, DFA::memory_usage);
        let prefilter = self.prefilter.as_ref().map_or(0, Prefilter::memory_usage);
        self.nfa.memory_usage() + dfa + prefilter + UNCOUNTED_BYTES
    }

    /// The maximum size of the working memory after [`Self::find`], in bytes.
    pub(crate) fn kept_bytes(&self) -> usize {
        self.kept_bytes + size_of::<PatternMemory>()
    }
}

/// Returns the first byte at or after `from` where a match can start.
fn next_candidate(prefilter: Option<&Prefilter>, message: &str, from: usize) -> Option<usize> {
    let Some(prefilter) = prefilter else {
        return Some(from);
    };
    let span = (from..message.len()).into();
    prefilter
        .find(message.as_bytes(), span)
        .map(|found| found.start)
}

fn lazy_dfa(nfa: &NFA, has_prefilter: bool) -> Option<DFA> {
    if nfa.has_empty() {
        return None;
    }
    let config = Config::new()
        .unicode_word_boundary(true)
        .specialize_start_states(has_prefilter)
        .cache_capacity(MAX_AUTOMATON_BYTES)
        .minimum_cache_clear_count(Some(MIN_CACHE_CLEARS))
        .minimum_bytes_per_state(Some(MIN_BYTES_PER_STATE));
    let mut builder = DFA::builder();
    builder.configure(config).build_from_nfa(nfa.clone()).ok()
}

fn reason(error: &thompson::BuildError) -> String {
    if error.size_limit().is_some() {
        return format!(
            "compiles to more than {} KiB: use fewer repetitions, or '[a-z0-9]' instead of '\\w'",
            MAX_COMPILED_BYTES / 1024
        );
    }
    "does not compile".to_owned()
}

/// Returns the parser's error in one line, without its drawing of the pattern.
fn last_line(picture: &str) -> String {
    let last = picture.lines().next_back().unwrap_or_default();
    last.strip_prefix("error: ").unwrap_or(last).to_owned()
}

#[cfg(test)]
mod tests;
