//! Patterns: regular expressions, with a bound on everything they may take.

use std::ops::Range;

use regex_automata::{
    Input,
    meta::{BuildError, Cache, Config, Regex},
    nfa::thompson::WhichCaptures,
    util::syntax,
};

/// Most characters of a pattern.
const SOURCE_CHARACTERS: usize = 512;
/// Most bytes of a compiled pattern, as crate `regex` counts its `size_limit`.
const COMPILED_BYTES: usize = 64 * 1024;
/// How deep a pattern may nest.
const NESTING: u32 = 32;
/// Most bytes of each lazily built automaton. With half of it, patterns with a Unicode class and
/// little literal text fall back to an engine a thousand times slower.
const AUTOMATON_BYTES: usize = 64 * 1024;
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
    regex: Regex,
    kept_bytes: usize,
}

/// What one thread needs to match one pattern, made when first needed.
pub(crate) type PatternMemory = Option<Cache>;

/// Where each group of a pattern matched, in bytes of the message; the whole match is the first.
pub(crate) type Captures = Vec<Option<Range<usize>>>;

impl Pattern {
    /// Compiles `source`, without regard to case. `keeps_captures` says whether an answer uses
    /// its groups; without them it is smaller. The error says why not, in one line.
    pub(crate) fn compile(source: &str, keeps_captures: bool) -> Result<Self, String> {
        if source.chars().count() > SOURCE_CHARACTERS {
            return Err(format!("has more than {SOURCE_CHARACTERS} characters"));
        }
        let captures = if keeps_captures {
            WhichCaptures::All
        } else {
            WhichCaptures::Implicit
        };
        let config = Config::new()
            .which_captures(captures)
            .nfa_size_limit(Some(COMPILED_BYTES))
            .hybrid_cache_capacity(AUTOMATON_BYTES)
            .dfa(false)
            .onepass(false);
        let syntax = syntax::Config::new()
            .case_insensitive(true)
            .nest_limit(NESTING);
        let regex = Regex::builder()
            .configure(config)
            .syntax(syntax)
            .build(source)
            .map_err(|error| reason(&error))?;
        let mut pattern = Self {
            regex,
            kept_bytes: 0,
        };
        pattern.warm_up();
        Ok(pattern)
    }

    fn warm_up(&mut self) {
        let mut cache = self.regex.create_cache();
        self.is_match(&mut cache, WARM_UP_TEXT);
        self.kept_bytes = cache.memory_usage() + GROWTH_BYTES;
    }

    /// Finds the pattern in `message`.
    pub(crate) fn find(&self, memory: &mut PatternMemory, message: &str) -> Option<Captures> {
        let cache = memory.get_or_insert_with(|| self.regex.create_cache());
        let found = self
            .is_match(cache, message)
            .then(|| self.captures(cache, message));
        if cache.memory_usage() > self.kept_bytes {
            *memory = None;
        }
        found
    }

    fn is_match(&self, cache: &mut Cache, message: &str) -> bool {
        let input = Input::new(message).earliest(true);
        self.regex.search_half_with(cache, &input).is_some()
    }

    fn captures(&self, cache: &mut Cache, message: &str) -> Captures {
        let mut captures = self.regex.create_captures();
        let input = Input::new(message);
        self.regex
            .search_captures_with(cache, &input, &mut captures);
        let spans = captures.iter();
        spans.map(|span| span.map(|span| span.range())).collect()
    }

    /// The number of the group that a placeholder calls `name`: its number or its name.
    pub(crate) fn group(&self, name: &str) -> Option<usize> {
        let groups = self.regex.group_info();
        let pattern = regex_automata::PatternID::ZERO;
        if name.bytes().all(|byte| byte.is_ascii_digit()) {
            let number = name.parse().ok()?;
            return (number < groups.group_len(pattern)).then_some(number);
        }
        groups.to_index(pattern, name)
    }

    /// Bytes that the compiled pattern holds, without the memory to match it.
    pub(crate) fn compiled_bytes(&self) -> usize {
        self.regex.memory_usage() + UNCOUNTED_BYTES
    }

    /// Most bytes of a memory that [`Self::find`] leaves behind.
    pub(crate) fn kept_bytes(&self) -> usize {
        self.kept_bytes + size_of::<Cache>()
    }
}

/// The compiler's reason in one line, without the picture of the pattern it draws around it.
fn reason(error: &BuildError) -> String {
    if error.size_limit().is_some() {
        return format!(
            "compiles to more than {} KiB: repeat less, or say '[a-z0-9]' for '\\w'",
            COMPILED_BYTES / 1024
        );
    }
    let Some(error) = error.syntax_error() else {
        return "does not compile".to_owned();
    };
    let picture = error.to_string();
    let last = picture.lines().next_back().unwrap_or_default();
    last.strip_prefix("error: ").unwrap_or(last).to_owned()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

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
        assert_eq!(pattern.find(&mut None, message).is_some(), matches);
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
        r"(\w+) (\w+) (\w+)",
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
        let captures = pattern.find(&mut None, "it is 12 KG.").unwrap();
        assert_eq!(captures, [Some(6..11), Some(6..8), Some(9..11), None]);
    }

    #[test]
    fn gives_memory_back_that_a_message_blew_up() {
        let pattern = Pattern::compile(".{0,30}zz.{0,30}", false).unwrap();
        let mut memory = None;
        let message: String = ('a'..='z')
            .chain('\u{c0}'..'\u{17f}')
            .cycle()
            .take(20_000)
            .collect();
        pattern.find(&mut memory, &message);
        let left = memory.as_ref().map_or(0, Cache::memory_usage);
        assert!(left <= pattern.kept_bytes(), "{left} bytes are left");
    }
}
