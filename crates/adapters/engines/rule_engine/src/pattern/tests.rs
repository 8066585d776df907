use std::time::Duration;

use proptest::prelude::*;
use regex_automata::meta::Regex;
use rstest::rstest;

use super::*;

/// Searches in slices of this length.
fn find_in(pattern: &Pattern, message: &str, slice: Duration) -> Option<Captures> {
    let mut memory = PatternMemory::default();
    loop {
        if let Poll::Ready(found) = pattern.find(&mut memory, message, TimeSlice::new(slice)) {
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
fn patterns_match_anywhere_in_any_case(
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
    "compiles to more than 64 KiB: use fewer repetitions, or '[a-z0-9]' instead of '\\w'"
)]
#[case(
    r"(((a{100}){100}){100}){100}",
    "compiles to more than 64 KiB: use fewer repetitions, or '[a-z0-9]' instead of '\\w'"
)]
fn the_error_of_a_pattern_is_one_line(#[case] source: &str, #[case] expected: &str) {
    assert_eq!(Pattern::compile(source, true).unwrap_err(), expected);
}

#[test]
fn long_and_deep_patterns_are_rejected() {
    assert!(Pattern::compile(&"a".repeat(512), true).is_ok());
    assert!(Pattern::compile(&"a".repeat(513), true).is_err());
    let nested = |depth| format!("{}a{}", "(".repeat(depth), ")".repeat(depth));
    assert!(Pattern::compile(&nested(31), true).is_ok());
    let error = Pattern::compile(&nested(33), true).unwrap_err();
    assert_eq!(
        error,
        "exceed the maximum number of nested parentheses/brackets (32)"
    );
}

#[test]
fn groups_are_found_by_number_and_name() {
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
fn memory_that_a_message_enlarged_is_freed() {
    let pattern = Pattern::compile(".{0,30}zz.{0,30}", false).unwrap();
    let mut memory = PatternMemory::default();
    let message: String = ('a'..='z')
        .chain('\u{c0}'..'\u{17f}')
        .cycle()
        .take(20_000)
        .collect();
    let found = pattern.find(&mut memory, &message, TimeSlice::new(Duration::MAX));
    assert!(found.is_ready());
    let left = memory.cache.as_ref().map_or(0, Cache::memory_usage);
    assert!(left <= pattern.kept_bytes(), "{left} bytes are left");
}

/// The search of crate `regex`, as the reference.
fn reference(source: &str, message: &str) -> Option<Captures> {
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
fn matches_equal_those_of_crate_regex(#[case] source: &str, #[case] message: &str) {
    let expected = reference(source, message);
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
    fn matches_of_any_pattern_equal_those_of_crate_regex(
        source in r"(\(?[abcé]{1,3}[|*+?]?\)?|\\b|\\w|\^|\$|[.]|\(a\|bc?\)|\[ab\]\{1,3\}){1,6}",
        message in "[abcBé .]{0,40}",
    ) {
        let Ok(pattern) = Pattern::compile(&source, true) else {
            return Ok(());
        };
        let expected = reference(&source, &message);
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
    // Each round ends at the first check of the clock.
    for _ in 0..20 {
        let slice = TimeSlice::new(Duration::ZERO);
        assert!(pattern.find(&mut memory, &message, slice).is_pending());
    }
}
