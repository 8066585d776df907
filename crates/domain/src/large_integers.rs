//! Detection of integers that would lose precision.
//!
//! JSON has integers of any length. The JSON parser rounds those of more than 64 bits to floating
//! point.

use serde_json::Value;

/// Returns whether this JSON contains an integer of more than 64 bits.
pub fn has_large_integer(json: &str) -> bool {
    let mut rest = json;
    while let Some(start) = rest
        .find(|character: char| character == '"' || character == '-' || character.is_ascii_digit())
    {
        rest = &rest[start..];
        let end = if rest.starts_with('"') {
            end_of_string(rest)
        } else {
            let is_number_char =
                |character: char| character.is_ascii_alphanumeric() || "+-.".contains(character);
            rest.find(|character| !is_number_char(character))
                .unwrap_or(rest.len())
        };
        let (word, remainder) = rest.split_at(end);
        let is_whole = !word.contains(['"', '.', 'e', 'E']);
        if is_whole && word.parse::<i64>().is_err() && word.parse::<u64>().is_err() {
            return true;
        }
        rest = remainder;
    }
    false
}

/// Returns whether a parsed value contains a number that may have been such an integer.
pub fn has_rounded_integer(value: &Value) -> bool {
    /// Smaller ones fit 64 bits.
    const LIMIT: f64 = 9_223_372_036_854_775_808.0;
    match value {
        Value::Number(number) if number.is_f64() => {
            let is_rounded = |it: f64| it.fract() == 0.0 && it.abs() >= LIMIT;
            number.as_f64().is_some_and(is_rounded)
        }
        Value::Array(items) => items.iter().any(has_rounded_integer),
        Value::Object(members) => members.values().any(has_rounded_integer),
        _ => false,
    }
}

/// Returns the position after the closing quotation mark of the string at the start of the text.
fn end_of_string(text: &str) -> usize {
    let mut is_escaped = false;
    for (position, byte) in text.bytes().enumerate().skip(1) {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = true,
            b'"' => return position + 1,
            _ => {}
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    #[rstest]
    #[case(r#"{"a": 18446744073709551615, "b": [-9223372036854775808]}"#, false)]
    #[case(r#"{"a": 18446744073709551616}"#, true)]
    #[case(r#"{"a": [1, {"b\"": -9223372036854775809}]}"#, true)]
    #[case(r#"{"a": "\\", "b": 123456789012345678901234567890}"#, true)]
    #[case(r#"{"18446744073709551616": "\" 18446744073709551616"}"#, false)]
    #[case(
        r#"{"a": 1.5e30, "b": 18446744073709551616.5, "c": true, "d": null}"#,
        false
    )]
    #[case("18446744073709551616", true)]
    fn large_integers_are_found(#[case] json: &str, #[case] expected: bool) {
        assert_eq!(has_large_integer(json), expected);
        assert!(serde_json::from_str::<Value>(json).is_ok());
    }

    #[test]
    fn rounded_integers_are_detected_in_values() {
        for (value, expected) in [
            (json!({"a": [18_446_744_073_709_551_616_f64]}), true),
            (json!([-1e19]), true),
            (
                json!({"a": u64::MAX, "b": i64::MIN, "c": 0.5, "d": "1e30"}),
                false,
            ),
        ] {
            assert_eq!(has_rounded_integer(&value), expected, "{value}");
        }
    }
}
