//! Patterns of copied schemas.
//!
//! The library compiles the keys of `patternProperties` again for each copy, with another engine. It
//! is as fast, except for a few constructs, for which it backtracks.

/// The characters that mean the same for both engines after a backslash: classes and punctuation.
const PLAIN_ESCAPES: &str = "dDsSwWnrtf.-/+*?()[]{}|^$\\";

/// Returns whether a pattern needs no backtracking: it has no construct that may make the other
/// engine backtrack, such as `\b` and `a++`.
pub(super) fn is_plain(pattern: &str) -> bool {
    let mut previous = ' ';
    let mut rest = pattern.chars();
    while let Some(next) = rest.next() {
        let is_plain = match next {
            '\\' => {
                previous = ' ';
                if rest.next().is_some_and(|it| PLAIN_ESCAPES.contains(it)) {
                    continue;
                }
                false
            }
            // A second `+` is possessive.
            '+' => !"*+?}".contains(previous),
            // Of all groups with options, only those without capture are plain.
            '?' if previous == '(' => rest.next() == Some(':'),
            _ => true,
        };
        if !is_plain {
            return false;
        }
        previous = next;
    }
    true
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("", true)]
    #[case("^x-", true)]
    #[case(r"^[a-z_]\w*\.(?:b|c)+?\d{1,3}$", true)]
    #[case(r"\++", true)]
    #[case("(a+)+", true)]
    #[case("a++", false)]
    #[case("a*+", false)]
    #[case("a?+", false)]
    #[case("a{1,2}+", false)]
    #[case(r"\bword", false)]
    #[case(r"\B", false)]
    #[case(r"\<word", false)]
    #[case("(?i)a", false)]
    #[case("(?=a)", false)]
    #[case(r"(a)\1", false)]
    #[case("\\", false)]
    fn patterns_that_may_backtrack_are_found(#[case] pattern: &str, #[case] expected: bool) {
        assert_eq!(is_plain(pattern), expected);
    }
}
