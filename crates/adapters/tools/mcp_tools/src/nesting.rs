//! The nesting of messages. The JSON parser rejects a message of 128 levels as a whole, so one deep
//! schema would make a list of tools unreadable.

use std::borrow::Cow;

use serde_json::Value;
use sse_stream::Sse;

/// The maximum number of levels of a message that reach the parser.
const MESSAGE_LEVELS: usize = 120;

/// The maximum number of levels of a schema or of structured data. A message has only a few levels
/// around them, so a value that lost a part to [`prune`] always has more.
pub(crate) const VALUE_LEVELS: usize = 100;

/// The message, with `null` for each object and list that is nested too deeply to be parsed.
pub(crate) fn prune(json: &[u8]) -> Cow<'_, [u8]> {
    let mut pruned = Vec::new();
    let mut consumed = 0;
    let mut levels = 0_usize;
    let (mut is_in_string, mut is_escaped) = (false, false);
    for (at, byte) in json.iter().enumerate() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if is_in_string => is_escaped = true,
            b'"' => is_in_string = !is_in_string,
            _ if is_in_string => {}
            b'{' | b'[' => {
                if levels == MESSAGE_LEVELS {
                    pruned.extend_from_slice(&json[consumed..at]);
                    pruned.extend_from_slice(b"null");
                }
                levels += 1;
            }
            b'}' | b']' => {
                levels = levels.saturating_sub(1);
                if levels == MESSAGE_LEVELS {
                    consumed = at + 1;
                }
            }
            _ => {}
        }
    }
    if consumed == 0 {
        return Cow::Borrowed(json);
    }
    pruned.extend_from_slice(&json[consumed..]);
    Cow::Owned(pruned)
}

/// The event, with its message pruned.
pub(crate) fn prune_event(mut event: Sse) -> Sse {
    let data = event.data.as_deref().unwrap_or_default();
    if let Cow::Owned(pruned) = prune(data.as_bytes()) {
        event.data = Some(String::from_utf8_lossy(&pruned).into_owned());
    }
    event
}

/// Returns whether a value has more than [`VALUE_LEVELS`].
pub(crate) fn is_too_deep(value: &Value) -> bool {
    levels(value) > VALUE_LEVELS
}

fn levels(value: &Value) -> usize {
    match value {
        Value::Object(members) => 1 + members.values().map(levels).max().unwrap_or_default(),
        Value::Array(items) => 1 + items.iter().map(levels).max().unwrap_or_default(),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn nested(levels: usize) -> String {
        format!("{}1{}", r#"{"a":["#.repeat(levels), "]}".repeat(levels))
    }

    #[test]
    fn keeps_a_message_that_can_be_parsed() {
        let message = nested(MESSAGE_LEVELS / 2);
        let pruned = prune(message.as_bytes());
        assert!(matches!(pruned, Cow::Borrowed(_)));
        let text = format!(r#"{{"a":"{}\"{}"}}"#, "[".repeat(200), "{".repeat(200));
        assert_eq!(prune(text.as_bytes()), text.as_bytes());
    }

    #[rstest]
    #[case(MESSAGE_LEVELS / 2 + 1)]
    #[case(10_000)]
    fn prunes_only_the_part_that_is_nested_too_deeply(#[case] levels: usize) {
        let deep = nested(levels);
        let message = format!(r#"{{"deep":[{deep},{deep}],"beside":[{{"é":"[\"]"}}]}}"#);
        let pruned = prune(message.as_bytes());
        let value: Value = serde_json::from_slice(&pruned).expect("JSON");
        assert_eq!(value["beside"], serde_json::json!([{ "é": "[\"]" }]));
        assert_eq!(value["deep"].as_array().map(Vec::len), Some(2));
        assert!(value["deep"].as_array().unwrap().iter().all(is_too_deep));
    }

    #[test]
    fn leaves_an_unfinished_message_to_the_parser() {
        let message = "[".repeat(100_000);
        assert_eq!(prune(message.as_bytes()), message.as_bytes());
    }
}
