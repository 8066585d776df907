//! Ranges of text, compared by code point.

use domain::text::search_key;
use ports::AgentPosition;
use uuid::Uuid;

/// The exclusive end of the range of all texts that begin with `prefix`: the smallest text above
/// them. `None` if no such text exists, as for an empty prefix.
pub(crate) fn prefix_end(prefix: &str) -> Option<String> {
    let mut characters: Vec<char> = prefix.chars().collect();
    while let Some(last) = characters.pop() {
        // Skips the surrogates, which are not characters.
        if let Some(next) = (last..=char::MAX).nth(1) {
            characters.push(next);
            return Some(characters.into_iter().collect());
        }
    }
    None
}

/// A range of agents in the order of their names: from after a position up to a search key.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct NameRange {
    /// The search key and id after which the range begins.
    pub(crate) after: (String, Uuid),
    /// The exclusive end.
    pub(crate) end: String,
}

/// The agents whose names begin with `prefix`, from after a position that a client sent. Stored text
/// contains no NUL, and Postgres accepts none. So ends of the range that do are replaced: text after
/// them sorts after the part before it.
pub(crate) fn name_range(prefix: &str, after: Option<&AgentPosition>) -> NameRange {
    let prefix = search_key(prefix);
    let end = prefix_end(&prefix).unwrap_or_else(above_all_names);
    let start = (prefix, Uuid::nil());
    // The later of the two, so that a position from outside cannot leave the range.
    let after = match after {
        Some(after) => start.max((after.name_key.clone(), after.id.uuid())),
        None => start,
    };
    NameRange {
        after: match after.0.split_once('\0') {
            Some((before, _)) => (before.to_owned(), Uuid::max()),
            None => after,
        },
        end: end.split('\0').next().unwrap_or_default().to_owned(),
    }
}

/// The end of a range without an upper bound: greater than every name that the API accepts.
fn above_all_names() -> String {
    char::MAX.to_string().repeat(4_096)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_is_the_smallest_text_above_all_texts_with_the_prefix() {
        assert_eq!(prefix_end("ada").as_deref(), Some("adb"));
        assert_eq!(prefix_end("é").as_deref(), Some("ê"));
        assert_eq!(prefix_end("\u{d7ff}").as_deref(), Some("\u{e000}"));
        assert_eq!(prefix_end("a\u{10ffff}").as_deref(), Some("b"));
        assert_eq!(prefix_end("\u{10ffff}"), None);
        assert_eq!(prefix_end(""), None);
    }
}
