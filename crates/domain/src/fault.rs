//! Faults: single errors in a request's body, with their location.

pub mod list;

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

use crate::open_enum::open_enum;

open_enum! {
    /// The kind of a fault, for programs.
    FaultCode[23] {
        /// A required member is missing.
        Required = "required",
        /// The object has no such member.
        UnknownMember = "unknown_member",
        /// A member occurs twice in one object.
        DuplicateMember = "duplicate_member",
        /// The value has the wrong JSON type.
        WrongType = "wrong_type",
        /// The text has fewer characters, or the list fewer items, than required.
        TooShort = "too_short",
        /// More characters than allowed.
        TooLong = "too_long",
        /// A number below the minimum.
        TooSmall = "too_small",
        /// A number above the maximum.
        TooLarge = "too_large",
        /// More items or members than allowed.
        TooMany = "too_many",
        /// The text has a character that is not allowed.
        BadCharacter = "bad_character",
        /// The text does not have the required form.
        BadFormat = "bad_format",
        /// An item occurs twice in one list.
        DuplicateItem = "duplicate_item",
        /// The value is not one of the known values.
        UnknownValue = "unknown_value",
        /// Members that exclude each other, or values that contradict each other.
        NotCombinable = "not_combinable",
        /// The output does not satisfy the schema of the reply.
        Schema = "schema",
    }
}

/// One fault of a body.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct InputFault {
    /// The location as an RFC 6901 JSON Pointer; empty for the whole body.
    pub pointer: String,
    /// The kind of the fault, for programs.
    pub code: FaultCode,
    /// The explanation for people; never quotes the value.
    pub detail: String,
}

impl InputFault {
    /// Creates a fault at `pointer`.
    pub fn new(pointer: impl Into<String>, code: FaultCode, detail: impl Into<String>) -> Self {
        Self {
            pointer: pointer.into(),
            code,
            detail: detail.into(),
        }
    }

    /// Returns the same fault for a value that is at `prefix` in a larger body.
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
    fn tokens_are_escaped_by_rfc_6901() {
        let mut pointer = String::from("/config");
        push_token(&mut pointer, "a/b~c");
        push_index(&mut pointer, 3);
        assert_eq!(pointer, "/config/a~1b~0c/3");
    }
}
