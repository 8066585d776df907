//! Strict parsing of JSON: stricter rules than `serde_json`, in one pass. The depth is bounded, and
//! duplicate members and NUL characters are faults. Parsers differ in the value that they take from
//! duplicate members.

use std::{cell::Cell, collections::HashSet, fmt, str::Utf8Error};

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value, error::Category};

use crate::{FaultCode, Faults, InputFault, fault};

/// The maximum nesting depth of arrays and objects.
pub const MAX_DEPTH: usize = 64;

/// The reason why a text cannot be parsed. It does not quote the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum JsonError {
    /// The bytes are not UTF-8.
    #[error("not UTF-8 after {valid_bytes} bytes")]
    NotUtf8 {
        /// The number of bytes before the first invalid one.
        valid_bytes: usize,
    },
    /// The text begins with a byte order mark.
    #[error("a byte order mark at the beginning")]
    ByteOrderMark,
    /// The text is not JSON, or is nested too deep.
    #[error("{problem} at line {line}, column {column}")]
    Syntax {
        /// The problem at this position.
        problem: SyntaxProblem,
        /// The line, from 1.
        line: usize,
        /// The column in bytes, from 1; 0 directly after a line break.
        column: usize,
    },
}

/// A problem at a position in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SyntaxProblem {
    /// More than [`MAX_DEPTH`] arrays and objects are nested.
    #[error("too deep")]
    TooDeep,
    /// The text ends too early.
    #[error("unexpected end")]
    Truncated,
    /// Anything else.
    #[error("malformed")]
    Malformed,
}

impl From<Utf8Error> for JsonError {
    fn from(error: Utf8Error) -> Self {
        Self::NotUtf8 {
            valid_bytes: error.valid_up_to(),
        }
    }
}

impl JsonError {
    fn syntax(error: &serde_json::Error, is_too_deep: bool) -> Self {
        let problem = match error.classify() {
            _ if is_too_deep => SyntaxProblem::TooDeep,
            Category::Eof => SyntaxProblem::Truncated,
            Category::Syntax | Category::Data | Category::Io => SyntaxProblem::Malformed,
        };
        Self::Syntax {
            problem,
            line: error.line(),
            column: error.column(),
        }
    }
}

/// Parses one JSON text. Of duplicate members the first is kept. Duplicate members and NUL
/// characters are returned as faults.
pub fn parse(bytes: &[u8]) -> Result<(Value, Faults), JsonError> {
    let text = std::str::from_utf8(bytes)?;
    if text.starts_with('\u{feff}') {
        return Err(JsonError::ByteOrderMark);
    }
    let mut faults = Faults::default();
    let is_too_deep = Cell::new(false);
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let root = Node {
        path: &Path::Root,
        depth: 0,
        faults: &mut faults,
        is_too_deep: &is_too_deep,
    };
    let value = root.deserialize(&mut deserializer);
    let value = value.and_then(|value| deserializer.end().map(|()| value));
    let value = value.map_err(|error| JsonError::syntax(&error, is_too_deep.get()))?;
    Ok((value, faults))
}

/// The path to a value, kept on the stack. A pointer is built only for a fault.
enum Path<'a> {
    Root,
    Member(&'a Self, &'a str),
    Item(&'a Self, usize),
}

impl Path<'_> {
    fn pointer(&self) -> String {
        match self {
            Self::Root => String::new(),
            Self::Member(parent, name) => {
                let mut pointer = parent.pointer();
                fault::push_token(&mut pointer, name);
                pointer
            }
            Self::Item(parent, index) => {
                let mut pointer = parent.pointer();
                fault::push_index(&mut pointer, *index);
                pointer
            }
        }
    }
}

/// A value that is about to be parsed.
struct Node<'a> {
    path: &'a Path<'a>,
    /// The number of arrays and objects around the value.
    depth: usize,
    faults: &'a mut Faults,
    /// Set before an error about the depth is returned.
    is_too_deep: &'a Cell<bool>,
}

impl Node<'_> {
    fn string_value(self, text: String) -> Value {
        check_nul(&text, self.path, self.faults);
        Value::String(text)
    }

    fn check_depth<E: serde::de::Error>(&self) -> Result<(), E> {
        if self.depth < MAX_DEPTH {
            return Ok(());
        }
        self.is_too_deep.set(true);
        Err(E::custom(SyntaxProblem::TooDeep))
    }
}

fn check_nul(text: &str, path: &Path<'_>, faults: &mut Faults) {
    if text.as_bytes().contains(&0) && !faults.is_full() {
        let fault = InputFault::new(
            path.pointer(),
            FaultCode::BadCharacter,
            "must not contain NUL characters",
        );
        faults.push(fault);
    }
}

impl<'de> DeserializeSeed<'de> for Node<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Node<'_> {
    type Value = Value;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Value, E> {
        let number = Number::from_f64(value).ok_or_else(|| E::custom("not a finite number"))?;
        Ok(Value::Number(number))
    }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(self.string_value(text.to_owned()))
    }

    fn visit_string<E>(self, text: String) -> Result<Value, E> {
        Ok(self.string_value(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        self.check_depth()?;
        let mut array = Vec::new();
        while let Some(item) = items.next_element_seed(Node {
            path: &Path::Item(self.path, array.len()),
            depth: self.depth + 1,
            faults: &mut *self.faults,
            is_too_deep: self.is_too_deep,
        })? {
            array.push(item);
        }
        Ok(Value::Array(array))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        self.check_depth()?;
        let mut object = Map::new();
        // Each duplicate name is one fault, however often it occurs, so that other faults still
        // fit.
        let mut repeated = HashSet::new();
        while let Some(name) = members.next_key::<String>()? {
            let before = self.faults.checkpoint();
            let path = Path::Member(self.path, &name);
            check_nul(&name, &path, self.faults);
            let value = members.next_value_seed(Node {
                path: &path,
                depth: self.depth + 1,
                faults: &mut *self.faults,
                is_too_deep: self.is_too_deep,
            })?;
            if object.contains_key(&name) {
                // Faults inside the duplicate are dropped, because their pointers would lead to the
                // first member.
                self.faults.rollback_to(before);
                if !self.faults.is_full() && !repeated.contains(&name) {
                    let detail = "is sent more than once";
                    let fault = InputFault::new(path.pointer(), FaultCode::DuplicateMember, detail);
                    self.faults.push(fault);
                    repeated.insert(name);
                }
            } else {
                object.insert(name, value);
            }
        }
        Ok(Value::Object(object))
    }
}

/// Replaces NUL, which stores cannot hold, with U+FFFD in every string and member name.
pub fn replace_nul(value: Value) -> Value {
    let replaced = |text: String| text.replace('\0', "\u{fffd}");
    match value {
        Value::String(text) => Value::String(replaced(text)),
        Value::Array(items) => items.into_iter().map(replace_nul).collect(),
        Value::Object(members) => {
            let members = members.into_iter();
            let members = members.map(|(name, value)| (replaced(name), replace_nul(value)));
            Value::Object(members.collect())
        }
        other => other,
    }
}

#[cfg(test)]
mod tests;
