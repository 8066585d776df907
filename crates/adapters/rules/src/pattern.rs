//! Patterns: regular expressions, with a bound on everything they may take.
//!
//! A search reads the message with a lazy DFA (`dfa_search`) and, where that gives up or groups
//! are wanted, simulates the NFA (`nfa_search`). Both can pause inside a message, so no pattern
//! holds a thread for long.

mod dfa_search;
mod nfa_search;

use std::{mem, ops::Range, task::Poll};

use regex_automata::{
    MatchKind, PatternID,
    hybrid::dfa::{Cache, Config, DFA},
    nfa::thompson::{self, Compiler, NFA, WhichCaptures},
    util::{prefilter::Prefilter, syntax},
};

use crate::slice::Slice;
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

/// What one thread needs to match one pattern: the states of the DFA that were built so far, and
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
mod tests {
    use std::time::Duration;

    use proptest::prelude::*;
    use regex_automata::meta::Regex;
    use rstest::rstest;

    use super::*;

    /// Searches in slices of this length.
    fn find_in(pattern: &Pattern, message: &str, slice: Duration) -> Option<Captures> {
        let mut memory = PatternMemory::default();
        loop {
            if let Poll::Ready(found) = pattern.find(&mut memory, message, Slice::new(slice)) {
                return found;
            }
        }
    }

    fn find(pattern: &Pattern, message: &str) -> Option<Captures> {
        find_in(pattern, message, Duration::MAX)
    }

    #[rstest]
    #[case("HELLO", "well, hello there", true)]
    #[case("straße", "STRASSE", false)]
    #[case("größe", "GRÖSSE, GRÖßE", true)]
    #[case(r"\bcat\b", "concatenate", false)]
    #[case("^order$", "order", true)]
    #[case("^order$", "my order", false)]
    #[case("привет", "ПРИВЕТ!", true)]
    fn matches_anywhere_without_regard_to_case(
        #[case] source: &str,
        #[case] message: &str,
        #[case] matches: bool,
    ) {
        let pattern = Pattern::compile(source, false).unwrap();
        assert_eq!(find(&pattern, message).is_some(), matches);
    }

    #[rstest]
    #[case("(", "unclosed group")]
    #[case("a**b)", "unopened group")]
    #[case(
        r"(?=ahead)",
        "look-around, including look-ahead and look-behind, is not supported"
    )]
    #[case(r"(a)\1", "backreferences are not supported")]
    #[case(r"\p{Klingon}", "Unicode property not found")]
    #[case(
        r"(\w+) (\w+) (\w+) (\w+) (\w+)",
        "compiles to more than 64 KiB: repeat less, or say '[a-z0-9]' for '\\w'"
    )]
    #[case(
        r"(((a{100}){100}){100}){100}",
        "compiles to more than 64 KiB: repeat less, or say '[a-z0-9]' for '\\w'"
    )]
    fn says_in_one_line_why_a_pattern_does_not_compile(
        #[case] source: &str,
        #[case] expected: &str,
    ) {
        assert_eq!(Pattern::compile(source, true).unwrap_err(), expected);
    }

    #[test]
    fn refuses_long_and_deep_patterns() {
        assert!(Pattern::compile(&"a".repeat(512), true).is_ok());
        assert!(Pattern::compile(&"a".repeat(513), true).is_err());
        let nested = |depth| format!("{}a{}", "(".repeat(depth), ")".repeat(depth));
        assert!(Pattern::compile(&nested(31), true).is_ok());
        let refusal = Pattern::compile(&nested(33), true).unwrap_err();
        assert_eq!(
            refusal,
            "exceed the maximum number of nested parentheses/brackets (32)"
        );
    }

    #[test]
    fn finds_groups_by_number_and_by_name() {
        let pattern = Pattern::compile(r"(\d+) (?P<unit>kg|lb)( net)?", true).unwrap();
        assert_eq!(pattern.group("0"), Some(0));
        assert_eq!(pattern.group("unit"), Some(2));
        assert_eq!(pattern.group("3"), Some(3));
        assert_eq!(pattern.group("4"), None);
        assert_eq!(pattern.group("weight"), None);
        assert_eq!(pattern.group(""), None);
        let captures = find(&pattern, "it is 12 KG.").unwrap();
        assert_eq!(captures, [Some(6..11), Some(6..8), Some(9..11), None]);
    }

    #[test]
    fn gives_memory_back_that_a_message_blew_up() {
        let pattern = Pattern::compile(".{0,30}zz.{0,30}", false).unwrap();
        let mut memory = PatternMemory::default();
        let message: String = ('a'..='z')
            .chain('\u{c0}'..'\u{17f}')
            .cycle()
            .take(20_000)
            .collect();
        let found = pattern.find(&mut memory, &message, Slice::new(Duration::MAX));
        assert!(found.is_ready());
        let left = memory.cache.as_ref().map_or(0, Cache::memory_usage);
        assert!(left <= pattern.kept_bytes(), "{left} bytes are left");
    }

    /// The search of crate `regex`, as the model of ours.
    fn model(source: &str, message: &str) -> Option<Captures> {
        let syntax = syntax::Config::new().case_insensitive(true);
        let regex = Regex::builder().syntax(syntax).build(source).unwrap();
        let mut captures = regex.create_captures();
        regex.captures(message, &mut captures);
        let spans = captures.iter().map(|span| span.map(|span| span.range()));
        captures.is_match().then(|| spans.collect())
    }

    #[rstest]
    #[case::empty_match("a*", "bab")]
    #[case::empty_match_inside_a_character(r"(?-u:\B)$|é?", "éé")]
    #[case::lazy("a+?b??", "aaab")]
    #[case::first_alternative_wins("sam|samwise", "samwise")]
    #[case::word_boundary_beside_an_umlaut(r"\bbar\b", "fübar bär bar")]
    #[case::repeated_group("(?:(a)|b)*", "abab")]
    #[case::end(r"(\w+)[.!]?$", "hello world!")]
    #[case::candidate_inside_a_word(r"\bcat", "concat cat")]
    #[case::many_states("(a|b)*a(a|b){9}c", &"abbabaabbbabaabab".repeat(60))]
    fn finds_what_crate_regex_finds(#[case] source: &str, #[case] message: &str) {
        let expected = model(source, message);
        let found = |keeps_captures, slice| {
            let pattern = Pattern::compile(source, keeps_captures).unwrap();
            find_in(&pattern, message, slice)
        };
        for slice in [Duration::MAX, Duration::ZERO] {
            assert_eq!(found(true, slice), expected);
            assert_eq!(found(false, slice).is_some(), expected.is_some());
        }
    }

    proptest! {
        #[test]
        fn finds_what_crate_regex_finds_by_any_pattern(
            source in r"(\(?[abcé]{1,3}[|*+?]?\)?|\\b|\\w|\^|\$|[.]|\(a\|bc?\)|\[ab\]\{1,3\}){1,6}",
            message in "[abcBé .]{0,40}",
        ) {
            let Ok(pattern) = Pattern::compile(&source, true) else {
                return Ok(());
            };
            let expected = model(&source, &message);
            let uncaptured = Pattern::compile(&source, false).unwrap();
            prop_assert_eq!(find(&uncaptured, &message).is_some(), expected.is_some());
            prop_assert_eq!(find(&pattern, &message), expected);
        }
    }

    #[test]
    fn the_largest_pattern_on_the_longest_message_pauses() {
        let source = "(?-i)(?:[ab]\\b?){0,300}[0-9]";
        let pattern = Pattern::compile(source, false).unwrap();
        let message = "abbabaé".repeat(4_500);
        let mut memory = PatternMemory::default();
        // Each round ends at the first look at the clock.
        for _ in 0..20 {
            let slice = Slice::new(Duration::ZERO);
            assert!(pattern.find(&mut memory, &message, slice).is_pending());
        }
    }
}
