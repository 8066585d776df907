//! Repair of lone surrogates in JSON.
//!
//! Servers in languages with UTF-16 strings can split a character between two chunks and escape
//! each half on its own, which is not valid JSON text.

/// Returns the JSON with U+FFFD in place of each lone surrogate; `None` if it contains none.
pub(crate) fn replace_lone_surrogates(json: &[u8]) -> Option<Vec<u8>> {
    let mut repaired = None;
    let mut position = 0;
    while position < json.len() {
        if json[position] != b'\\' {
            position += 1;
            continue;
        }
        match escaped(json, position) {
            Some(0xd800..=0xdbff)
                if matches!(escaped(json, position + 6), Some(0xdc00..=0xdfff)) =>
            {
                position += 12;
            }
            Some(0xd800..=0xdfff) => {
                let repaired = repaired.get_or_insert_with(|| json.to_vec());
                repaired[position + 2..position + 6].copy_from_slice(b"fffd");
                position += 6;
            }
            // The next byte may be a backslash that is itself escaped.
            _ => position += 2,
        }
    }
    repaired
}

/// Returns the value of the escape `\u….` at this position.
fn escaped(json: &[u8], position: usize) -> Option<u16> {
    let digits = json.get(position..position + 6)?.strip_prefix(b"\\u")?;
    let is_hexadecimal = digits.iter().all(u8::is_ascii_hexdigit);
    let digits = str::from_utf8(digits).ok().filter(|_| is_hexadecimal)?;
    u16::from_str_radix(digits, 16).ok()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case(r#""\ud83e\udd8a é \u00e9 \n""#, None)]
    #[case(r#""\\ud83e""#, None)]
    #[case(r#""\ud83"#, None)]
    #[case(r#""a \ud83e b""#, Some(r#""a \ufffd b""#))]
    #[case(r#""\uDD8A""#, Some(r#""\ufffd""#))]
    #[case(r#""\ud83e\ud83e\udd8a""#, Some(r#""\ufffd\ud83e\udd8a""#))]
    #[case(r#""\ud83e\\udd8a""#, Some(r#""\ufffd\\udd8a""#))]
    #[case(r#""\udd8a\ud83e"#, Some(r#""\ufffd\ufffd"#))]
    fn lone_surrogates_are_replaced(#[case] json: &str, #[case] expected: Option<&str>) {
        let repaired = replace_lone_surrogates(json.as_bytes());
        assert_eq!(repaired.as_deref(), expected.map(str::as_bytes));
    }
}
