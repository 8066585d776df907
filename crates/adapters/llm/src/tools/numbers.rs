//! Numbers that would not be what they were.
//!
//! JSON has whole numbers of any length. Read here, those of more than 64 bits become the nearest
//! that floating point has.

/// Whether a whole number in this JSON is larger than integers are here.
pub(super) fn has_large_number(json: &str) -> bool {
    let mut rest = json;
    while let Some(start) = rest.find(|it: char| it == '"' || it == '-' || it.is_ascii_digit()) {
        rest = &rest[start..];
        let end = if rest.starts_with('"') {
            end_of_string(rest)
        } else {
            let is_of_number = |it: char| it.is_ascii_alphanumeric() || "+-.".contains(it);
            rest.find(|it| !is_of_number(it)).unwrap_or(rest.len())
        };
        let (word, behind) = rest.split_at(end);
        let is_whole = !word.contains(['"', '.', 'e', 'E']);
        if is_whole && word.parse::<i64>().is_err() && word.parse::<u64>().is_err() {
            return true;
        }
        rest = behind;
    }
    false
}

/// Behind the quotation mark that closes the string which the text begins with.
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
    fn knows_large_numbers(#[case] json: &str, #[case] expected: bool) {
        assert_eq!(has_large_number(json), expected);
        assert!(serde_json::from_str::<serde_json::Value>(json).is_ok());
    }
}
