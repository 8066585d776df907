//! The characters that texts may contain.

/// The pattern of names and ids: no control characters except tab, CR and LF.
pub const NAME_PATTERN: &str = r"^[^\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]*$";
/// The same, with at least one character that is not white space.
pub const VISIBLE_NAME_PATTERN: &str = concat!(
    r"^[^\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]*[^\x00-\x20\x7f\x85\s]",
    r"[^\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]*$"
);
/// The pattern of any other text: all characters except NUL, which databases do not store.
pub const TEXT_PATTERN: &str = r"^[^\x00]*$";

/// The explanation of a blank text.
pub const BLANK_IN_WORDS: &str = "at least 1 character that is visible";

/// Returns `true` for a text without a visible character: only white space, or characters of no
/// width such as the byte order mark.
pub fn is_blank(text: &str) -> bool {
    let is_invisible = |letter: char| {
        letter.is_whitespace()
            || matches!(letter, '\u{200b}'..='\u{200f}' | '\u{2060}' | '\u{feff}')
    };
    text.chars().all(is_invisible)
}

/// Returns the case-folded form of a name, for searching and sorting. It is the same in every
/// store. The key of a name starts with the key of every prefix of the name.
pub fn search_key(name: &str) -> String {
    // `str::to_lowercase` writes the last sigma of a word as ς, so the key of a prefix could differ
    // from the start of the key.
    name.to_lowercase().replace('ς', "σ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_without_visible_characters_is_blank() {
        for blank in [
            "",
            " ",
            "\n\t\r\u{a0}",
            "\u{3000}",
            "\u{200b}",
            "\u{feff} \u{200d}",
        ] {
            assert!(is_blank(blank), "{blank:?}");
        }
        for text in [".", " a ", "\u{1f44d}", "\u{2800}x", "\u{1}"] {
            assert!(!is_blank(text), "{text:?}");
        }
    }

    #[test]
    fn the_key_of_a_prefix_is_a_prefix_of_the_key() {
        for (name, prefix) in [("ΟΔΟΣΑ", "ΟΔΟΣ"), ("οδος", "ΟΔΟΣ"), ("Émile", "éM")]
        {
            assert!(search_key(name).starts_with(&search_key(prefix)), "{name}");
        }
    }
}
