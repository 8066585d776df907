//! One thing wrong with a request's body, and where.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

/// What is wrong, in a word that programs can act on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum FaultCode {
    /// A member that must be there is missing.
    Required,
    /// A member that this object does not have.
    UnknownMember,
    /// The same member twice in one object.
    DuplicateMember,
    /// A value of another JSON type.
    WrongType,
    /// Fewer characters than allowed.
    TooShort,
    /// More characters than allowed.
    TooLong,
    /// A number below the least allowed.
    TooSmall,
    /// A number above the greatest allowed.
    TooLarge,
    /// More items or members than allowed.
    TooMany,
    /// A character that is not allowed here.
    BadCharacter,
    /// Text that does not have the form it must have.
    BadFormat,
    /// The same item twice in one list.
    DuplicateItem,
    /// A value outside the known ones.
    UnknownValue,
    /// Members that exclude each other, or values that contradict each other.
    NotCombinable,
}

/// One fault of a body. `pointer` is an RFC 6901 JSON Pointer; empty for the whole body.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Fault {
    /// Where: RFC 6901.
    pub pointer: String,
    /// What, for programs.
    pub code: FaultCode,
    /// What, for people; never quotes the value.
    pub detail: String,
}

impl Fault {
    /// A fault at `pointer`.
    pub fn new(pointer: impl Into<String>, code: FaultCode, detail: impl Into<String>) -> Self {
        Self {
            pointer: pointer.into(),
            code,
            detail: detail.into(),
        }
    }

    /// The same fault of a value that stands at `prefix` in a larger body.
    #[must_use]
    pub fn below(mut self, prefix: &str) -> Self {
        self.pointer.insert_str(0, prefix);
        self
    }
}

/// Appends one reference token to a JSON Pointer, escaped by RFC 6901.
pub fn push_token(pointer: &mut String, token: &str) {
    pointer.push('/');
    for character in token.chars() {
        match character {
            '~' => pointer.push_str("~0"),
            '/' => pointer.push_str("~1"),
            other => pointer.push(other),
        }
    }
}

/// Appends the index of an array's item to a JSON Pointer.
pub fn push_index(pointer: &mut String, index: usize) {
    let _ = write!(pointer, "/{index}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_tokens_by_the_rfc() {
        let mut pointer = String::from("/config");
        push_token(&mut pointer, "a/b~c");
        push_index(&mut pointer, 3);
        assert_eq!(pointer, "/config/a~1b~0c/3");
    }
}
