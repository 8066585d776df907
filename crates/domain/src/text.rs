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
    fn the_key_of_a_prefix_is_a_prefix_of_the_key() {
        for (name, prefix) in [("ΟΔΟΣΑ", "ΟΔΟΣ"), ("οδος", "ΟΔΟΣ"), ("Émile", "éM")]
        {
            assert!(search_key(name).starts_with(&search_key(prefix)), "{name}");
        }
    }
}
