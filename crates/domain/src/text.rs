//! Which characters may stand where.

/// Characters allowed in names and ids: no control characters but tab, CR and LF.
pub const NAME_PATTERN: &str = r"^[^\x00-\x08\x0b\x0c\x0e-\x1f\x7f]*$";
/// Characters allowed in any other text: all but NUL, which databases do not keep.
pub const TEXT_PATTERN: &str = r"^[^\x00]*$";

/// Case-folded form by which names are searched and sorted, alike in every store.
pub fn search_key(name: &str) -> String {
    name.to_lowercase()
}
