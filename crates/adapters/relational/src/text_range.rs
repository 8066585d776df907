//! Ranges of text, compared by code point.

/// The exclusive end of the range of all texts that begin with `prefix`: the smallest text above
/// them. `None` if no such text exists, as for an empty prefix.
pub fn prefix_end(prefix: &str) -> Option<String> {
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
