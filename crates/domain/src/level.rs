//! The level of this program.

/// [`LEVEL`] as a literal, for statements.
#[macro_export]
macro_rules! level {
    () => {
        4
    };
}

/// The level of this version of the program. A later version has a higher one if it writes something
/// that earlier ones would misread so that a promise breaks, such as a turn that waits for a person, one with files, or an
/// agent whose fallbacks name models.
/// It writes that only while all live nodes have this level, which `Membership` tells; and it marks a
/// turn that earlier levels must neither start nor end by themselves with it, in a transaction that
/// writes an event, because what nodes know of a turn holds while the head is the same. Nothing else
/// depends on it: an unknown event, value or member is read by every version.
pub const LEVEL: i32 = level!();
