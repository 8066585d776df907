//! Calls of tools, and what is kept of their arguments.

use std::io;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// One call of a tool during a turn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct ToolCall {
    /// The tool.
    pub name: String,
    /// What it was given. An empty object stands for arguments that are nested more than 32 levels
    /// deep, or with which those of the turn would be more than 1 MiB of JSON.
    pub arguments: Value,
    /// How it ended: `ok`, `invalid_arguments`, `failed`, `timed_out`, `unavailable`, `unknown_tool`
    /// or `too_many`; `running` while it has not, and `cancelled` if its turn ended before it.
    /// Engines may have others.
    pub status: String,
    /// How long it took, in milliseconds.
    pub duration_ms: i64,
}

impl ToolCall {
    /// What stands for arguments that are not kept, or not told.
    pub fn left_out() -> Value {
        Value::Object(Map::new())
    }
}

/// Whether arrays and objects stand in each other on more levels than these. Looks no deeper.
pub fn is_nested_deeper(value: &Value, levels: usize) -> bool {
    let is_deeper = |inner: &Value| {
        let levels = levels.checked_sub(1);
        levels.is_none_or(|levels| is_nested_deeper(inner, levels))
    };
    match value {
        Value::Array(items) => levels == 0 || items.iter().any(is_deeper),
        Value::Object(members) => levels == 0 || members.values().any(is_deeper),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

/// How many bytes of JSON a value takes.
pub fn json_bytes(value: &impl Serialize) -> usize {
    let mut count = Count(0);
    // Neither counting nor writing out what is JSON already can fail.
    let _ = serde_json::to_writer(&mut count, value);
    count.0
}

/// Counts what is written.
struct Count(usize);

impl io::Write for Count {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn levels_are_those_of_arrays_and_objects() {
        for (value, levels) in [
            (json!(1), 0),
            (json!({}), 1),
            (json!([1, "[[[["]), 1),
            (json!({"a": [], "b": [1, {"c": [2]}], "d": 3}), 4),
        ] {
            assert!(!is_nested_deeper(&value, levels), "{value}");
            assert!(
                levels == 0 || is_nested_deeper(&value, levels - 1),
                "{value}"
            );
        }
    }

    #[test]
    fn bytes_are_those_that_are_written() {
        for value in [json!({"a": [1, null, "\u{1}é"]}), json!([]), json!("x")] {
            assert_eq!(json_bytes(&value), value.to_string().len(), "{value}");
        }
    }
}
