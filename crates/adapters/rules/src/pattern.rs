//! Patterns: regular expressions, with a bound on everything they may take.
//!
//! A search reads the message with a lazy DFA (`dfa_search`) and, where that gives up or groups
//! are wanted, simulates the NFA (`nfa_search`). Both can pause inside a message, so no pattern
//! holds a thread for long.

mod dfa_search;
mod nfa_search;

use std::{mem, ops::Range, task::Poll};

use cpu_pool::Slice;
use regex_automata::{
    MatchKind, PatternID,
    hybrid::dfa::{Cache, Config, DFA},
    nfa::thompson::{self, Compiler, NFA, WhichCaptures},
    util::{prefilter::Prefilter, syntax},
};

use dfa_search::{DfaOutcome, DfaSearch};
use nfa_search::NfaSearch;

/// Most characters of a pattern.
const SOURCE_CHARACTERS: usize = 512;
/// Most bytes of a compiled pattern, as crate `regex` counts its `size_limit`.
const COMPILED_BYTES: usize = 64 * 1024;
/// How deep a pattern may nest.
const NESTING: u32 = 32;
/// Most bytes of the lazily built automaton. With half of it, patterns with a Unicode class and
/// little literal text fall back to an engine a thousand times slower.
const AUTOMATON_BYTES: usize = 64 * 1024;
/// The lazy DFA gives up when it has been cleared so often, and built a state for fewer than so
/// many bytes since; the values of crate `regex`.
const CLEARS_BEFORE_GIVING_UP: usize = 3;
const BYTES_PER_STATE: usize = 10;
/// What a compiled pattern takes beside what it counts itself; measured, rounded up.
const UNCOUNTED_BYTES: usize = 8 * 1024;
/// How far a pattern's memory may grow beyond what the warm-up took before it is given back.
const GROWTH_BYTES: usize = 8 * 1024;

/// Ordinary words, digits, punctuation and a few characters beyond ASCII: what messages are
/// likely to drive the automata through.
const WARM_UP_TEXT: &str = "Hello! Could you tell me how my order no. 12-345 is doing, please? I \
    paid 49.90 € on 3 May; my e-mail is zoë.müller@example.com. Thanks – it's urgent. Привет, 你好";

/// A compiled pattern.
#[derive(Debug)]
pub(crate) struct Pattern {
    nfa: NFA,
    /// Missing where the pattern is too large for it, or can match the empty string: the NFA
    /// alone knows that none matches inside of a character.
    dfa: Option<DFA>,
    prefilter: Option<Prefilter>,
    keeps_captures: bool,
    kept_bytes: usize,
}

/// The memory of one thread that matches one pattern: the states of the DFA that were built, and
/// the progress of a search that has paused.
#[derive(Debug, Default)]
pub(crate) struct PatternMemory {
    cache: Option<Cache>,
    progress: Progress,
}

#[derive(Debug, Default)]
enum Progress {
    #[default]
    NotStarted,
    /// From the first candidate on.
    Dfa(usize, DfaSearch),
    Nfa(Box<NfaSearch>),
}

/// Where each group of a pattern matched, in bytes of the message; the whole match is the first.
/// Empty for a pattern that keeps none.
pub(crate) type Captures = Vec<Option<Range<usize>>>;

impl Pattern {
    /// Compiles `source`, without regard to case. `keeps_captures` says whether an answer uses
    /// its groups; without them it is smaller. The error says why not, in one line.
    pub(crate) fn compile(source: &str, keeps_captures: bool) -> Result<Self, String> {
        if source.chars().count() > SOURCE_CHARACTERS {
            return Err(format!("has more than {SOURCE_CHARACTERS} characters"));
        }
        let syntax = syntax::Config::new()
            .case_insensitive(true)
            .nest_limit(NESTING);
        let parsed = syntax::parse_with(source, &syntax);
        let parsed = parsed.map_err(|error| last_line(&error.to_string()))?;
        let captures = if keeps_captures {
            WhichCaptures::All
        } else {
            WhichCaptures::None
        };
        let config = thompson::Config::new()
            .which_captures(captures)
            .nfa_size_limit(Some(COMPILED_BYTES));
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
        // Without the prefilter, which would skip all of the text.
        if let Some(mut search) = DfaSearch::new(dfa, &mut cache, WARM_UP_TEXT, 0) {
            let slice = Slice::new(std::time::Duration::MAX);
            let _ = search.advance(dfa, &mut cache, None, WARM_UP_TEXT, slice);
        }
        self.kept_bytes = cache.memory_usage() + GROWTH_BYTES;
    }

    /// Finds the pattern in `message`; pending when the slice is over. Call it again with the same
    /// memory and message to continue.
    pub(crate) fn find(
        &self,
        memory: &mut PatternMemory,
        message: &str,
        slice: Slice,
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
        slice: Slice,
    ) -> Poll<Option<Captures>> {
        let prefilter = self.prefilter.as_ref();
        loop {
            memory.progress = match mem::take(&mut memory.progress) {
                Progress::NotStarted => {
                    let Some(first) = next_candidate(prefilter, message, 0) else {
                        return Poll::Ready(None);
                    };
                    self.begin(&mut memory.cache, message, first)
                }
                Progress::Dfa(first, mut search) => {
                    let (Some(dfa), Some(cache)) = (&self.dfa, &mut memory.cache) else {
                        unreachable!("a search with the DFA has a DFA and a cache");
                    };
                    match search.advance(dfa, cache, prefilter, message, slice) {
                        Poll::Pending => {
                            memory.progress = Progress::Dfa(first, search);
                            return Poll::Pending;
                        }
                        Poll::Ready(DfaOutcome::NoMatch) => return Poll::Ready(None),
                        Poll::Ready(DfaOutcome::Match) if !self.keeps_captures => {
                            return Poll::Ready(Some(Captures::new()));
                        }
                        Poll::Ready(DfaOutcome::Match | DfaOutcome::GaveUp) => self.by_nfa(first),
                    }
                }
                Progress::Nfa(mut search) => {
                    let found = search.advance(&self.nfa, prefilter, message, slice);
                    if found.is_pending() {
                        memory.progress = Progress::Nfa(search);
                    }
                    return found;
                }
            }
        }
    }

    /// Begins a search at the first place where the pattern can match.
    fn begin(&self, cache: &mut Option<Cache>, message: &str, first: usize) -> Progress {
        let Some(dfa) = &self.dfa else {
            return self.by_nfa(first);
        };
        let cache = cache.get_or_insert_with(|| dfa.create_cache());
        match DfaSearch::new(dfa, cache, message, first) {
            Some(search) => Progress::Dfa(first, search),
            None => self.by_nfa(first),
        }
    }

    fn by_nfa(&self, first: usize) -> Progress {
        Progress::Nfa(Box::new(NfaSearch::new(
            &self.nfa,
            first,
            self.keeps_captures,
        )))
    }

    /// The number of the group that a placeholder calls `name`: its number or its name.
    pub(crate) fn group(&self, name: &str) -> Option<usize> {
        let groups = self.nfa.group_info();
        let pattern = PatternID::ZERO;
        if name.bytes().all(|byte| byte.is_ascii_digit()) {
            let number = name.parse().ok()?;
            return (number < groups.group_len(pattern)).then_some(number);
        }
        groups.to_index(pattern, name)
    }

    /// Bytes that the compiled pattern holds, without the memory to match it.
    pub(crate) fn compiled_bytes(&self) -> usize {
        let dfa = self.dfa.as_ref().map_or(0, DFA::memory_usage);
        let prefilter = self.prefilter.as_ref().map_or(0, Prefilter::memory_usage);
        self.nfa.memory_usage() + dfa + prefilter + UNCOUNTED_BYTES
    }

    /// Most bytes of a memory that [`Self::find`] leaves behind.
    pub(crate) fn kept_bytes(&self) -> usize {
        self.kept_bytes + size_of::<PatternMemory>()
    }
}

/// The first byte at or after `from` where a match can begin.
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
        .cache_capacity(AUTOMATON_BYTES)
        .minimum_cache_clear_count(Some(CLEARS_BEFORE_GIVING_UP))
        .minimum_bytes_per_state(Some(BYTES_PER_STATE));
    let mut builder = DFA::builder();
    builder.configure(config).build_from_nfa(nfa.clone()).ok()
}

fn reason(error: &thompson::BuildError) -> String {
    if error.size_limit().is_some() {
        return format!(
            "compiles to more than {} KiB: repeat less, or say '[a-z0-9]' for '\\w'",
            COMPILED_BYTES / 1024
        );
    }
    "does not compile".to_owned()
}

/// The parser's reason in one line, without the picture of the pattern it draws around it.
fn last_line(picture: &str) -> String {
    let last = picture.lines().next_back().unwrap_or_default();
    last.strip_prefix("error: ").unwrap_or(last).to_owned()
}

#[cfg(test)]
mod tests;
