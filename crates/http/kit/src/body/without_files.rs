//! The size of a body without the files in it.

/// Longer texts count as files if they are base64, with or without the beginning of a data URL.
const MIN_FILE_BYTES: usize = 1024;
/// The maximum length of the beginning of a data URL, in bytes.
const MAX_HEAD_BYTES: usize = 256;

/// Returns the number of bytes of a JSON text without the contents of files. It may be wrong for what is no
/// JSON. It is determined before the body is parsed, since the values of other JSON take more memory than its text.
pub(super) fn bytes_without_files(body: &[u8]) -> usize {
    let (mut files, mut at) = (0, 0);
    while let Some(start) = find_quote(body, at) {
        let end = end_of_text(body, start + 1);
        let text = body.get(start + 1..end).unwrap_or_default();
        if text.len() > MIN_FILE_BYTES && is_file(text) {
            files += text.len();
        }
        at = end + 1;
    }
    body.len() - files
}

fn find_quote(body: &[u8], from: usize) -> Option<usize> {
    let found = memchr::memchr(b'"', body.get(from..)?);
    found.map(|at| from + at)
}

/// Returns the position of the quotation mark after a text.
fn end_of_text(body: &[u8], start: usize) -> usize {
    let mut at = start;
    while let Some(rest) = body.get(at..) {
        match memchr::memchr2(b'"', b'\\', rest) {
            Some(found) if rest[found] == b'"' => return at + found,
            Some(found) => at += found + 2,
            None => break,
        }
    }
    body.len()
}

fn is_file(text: &[u8]) -> bool {
    let head = text.iter().take(MAX_HEAD_BYTES).position(|it| *it == b',');
    let is_data_url = text
        .get(..5)
        .is_some_and(|it| it.eq_ignore_ascii_case(b"data:"));
    let content = match head.filter(|_| is_data_url) {
        Some(comma) => &text[comma + 1..],
        None => text,
    };
    // Line breaks and slashes may be escaped.
    let is_base64 = |byte: &u8| byte.is_ascii_alphanumeric() || b"+/=\\".contains(byte);
    content.iter().all(is_base64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_long_base64_counts_as_files() {
        let base64 = "aB+/".repeat(500);
        for (text, files) in [
            (format!("data:image/png;base64,{base64}"), 2022),
            (base64.clone(), 2000),
            (base64.replace('/', "\\/"), 2500),
            (format!("{base64}\\n{base64}=="), 4004),
            ("aB+/".repeat(200), 0),
            (format!("{base64} {base64}"), 0),
            (format!("data:{base64}"), 0),
            (format!("{base64}\\\""), 0),
        ] {
            let body = format!("{{\"a\": [\"x\", \"{text}\"], \"b\": \"\\\\\"}}");
            let without = bytes_without_files(body.as_bytes());
            assert_eq!(body.len() - without, files, "{}", &text[..30]);
        }
        for malformed in ["\"", "\"\\", "{\"a\": \"b", "\\\"", ""] {
            assert_eq!(bytes_without_files(malformed.as_bytes()), malformed.len());
        }
    }
}
