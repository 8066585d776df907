//! Characters that a server cut in half.
//!
//! Languages whose texts are UTF-16 let their programs cut a character in two, and write each half
//! down as an escape of JSON, which alone is no character.

/// The same JSON with the character U+FFFD in place of each such half; `None` when there is none.
pub(crate) fn without_halves(json: &[u8]) -> Option<Vec<u8>> {
    let mut mended = None;
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
                let mended = mended.get_or_insert_with(|| json.to_vec());
                mended[position + 2..position + 6].copy_from_slice(b"fffd");
                position += 6;
            }
            // The next byte may be another backslash, which begins nothing.
            _ => position += 2,
        }
    }
    mended
}

/// The number of the escape `\u….` that stands there.
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
    fn halves_become_a_character(#[case] json: &str, #[case] expected: Option<&str>) {
        let mended = without_halves(json.as_bytes());
        assert_eq!(mended.as_deref(), expected.map(str::as_bytes));
    }
}
