//! The characters that texts may contain.

/// The pattern of ids of users and names of tools: no control characters.
pub const ID_PATTERN: &str = r"^[^\x00-\x1f\x7f-\x9f]*$";
/// The pattern of names: no control characters except tab, CR and LF.
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

/// Returns `true` for a text without a visible character: only white space, or characters that are
/// not shown.
pub fn is_blank(text: &str) -> bool {
    text.chars()
        .all(|letter| letter.is_whitespace() || is_ignorable(letter))
}

/// Returns `true` for characters that control how others are shown, and are not shown themselves, such
/// as soft hyphens, marks of direction and joiners: Unicode's property `Default_Ignorable_Code_Point`.
pub const fn is_ignorable(letter: char) -> bool {
    matches!(
        letter,
        '\u{ad}'
            | '\u{34f}'
            | '\u{61c}'
            | '\u{115f}'..='\u{1160}'
            | '\u{17b4}'..='\u{17b5}'
            | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200f}'
            | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{3164}'
            | '\u{fe00}'..='\u{fe0f}'
            | '\u{feff}'
            | '\u{ffa0}'
            | '\u{fff0}'..='\u{fff8}'
            | '\u{1bca0}'..='\u{1bca3}'
            | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}'
    )
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
            "\u{61c}\u{202e}\u{2066}\u{ad}\u{e0041}",
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
