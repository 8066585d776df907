//! Which characters may stand where.

/// Characters allowed in names and ids: no control characters but tab, CR and LF.
pub const NAME_PATTERN: &str = r"^[^\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]*$";
/// The same, with a character that is not white space.
pub const VISIBLE_NAME_PATTERN: &str = concat!(
    r"^[^\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]*[^\x00-\x20\x7f\x85\s]",
    r"[^\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]*$"
);
/// Characters allowed in any other text: all but NUL, which databases do not keep.
pub const TEXT_PATTERN: &str = r"^[^\x00]*$";

/// Case-folded form by which names are searched and sorted, alike in every store. The key of a
/// name begins with the key of every beginning of that name.
pub fn search_key(name: &str) -> String {
    // `str::to_lowercase` writes the last sigma of a word as ς, so a name's beginning would have
    // another key than the name.
    name.to_lowercase().replace('ς', "σ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_key_of_a_beginning_is_the_beginning_of_the_key() {
        for (name, beginning) in [("ΟΔΟΣΑ", "ΟΔΟΣ"), ("οδος", "ΟΔΟΣ"), ("Émile", "éM")]
        {
            assert!(
                search_key(name).starts_with(&search_key(beginning)),
                "{name}"
            );
        }
    }
}
