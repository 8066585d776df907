//! The name of a file in a `Content-Disposition` header (RFC 6266, RFC 8187), also in headers that do
//! not follow them: clients quote names in many ways.

use std::borrow::Cow;

/// Returns the names of a header, the best one first: that of `filename*`, then that of `filename`.
pub(super) fn names(header: &[u8]) -> impl Iterator<Item = String> {
    let text = decode(header);
    let mut extended = None;
    let mut plain = None;
    let mut rest = &*text;
    while let Some((name, value, later)) = next_parameter(rest) {
        rest = later;
        // Of several parameters with the same name, the first is taken.
        if name.eq_ignore_ascii_case("filename*") {
            extended = extended.or_else(|| decode_extended(&value));
        } else if name.eq_ignore_ascii_case("filename") {
            plain = plain.or_else(|| Some(value.into_owned()));
        }
    }
    extended.into_iter().chain(plain)
}

/// Headers are Latin-1 by their specification, but browsers send UTF-8 in multipart bodies.
fn decode(header: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(header) {
        Ok(text) => text.into(),
        Err(_) => latin_1(header).into(),
    }
}

fn latin_1(bytes: &[u8]) -> String {
    bytes.iter().copied().map(char::from).collect()
}

/// Returns the next parameter with its value, and the rest of the header. The type, such as
/// `attachment`, is no parameter.
fn next_parameter(mut text: &str) -> Option<(&str, Cow<'_, str>, &str)> {
    loop {
        text = text.trim_start_matches(|it: char| it == ';' || it.is_whitespace());
        let end = text.find(['=', ';'])?;
        let (name, rest) = text.split_at(end);
        let Some(value) = rest.strip_prefix('=') else {
            text = rest;
            continue;
        };
        let value = value.trim_start();
        let (value, rest) = if let Some(quoted) = value.strip_prefix('"') {
            unquote(quoted)
        } else {
            let (value, rest) = split_at_semicolon(value);
            (value.trim_end().into(), rest)
        };
        return Some((name.trim(), value, rest));
    }
}

fn split_at_semicolon(text: &str) -> (&str, &str) {
    text.split_at(text.find(';').unwrap_or(text.len()))
}

/// Reads a quoted string without its first quote. A quote ends it only in front of a semicolon or the
/// end, since some clients do not escape those in a name. Backslashes escape only quotes and
/// backslashes: others are those of paths.
fn unquote(text: &str) -> (Cow<'_, str>, &str) {
    let mut value = String::new();
    let mut letters = text.char_indices();
    while let Some((at, letter)) = letters.next() {
        let after = &text[at + letter.len_utf8()..];
        match letter {
            '"' if ends_value(after) => return (value.into(), after),
            '\\' if after.starts_with(['"', '\\']) => {
                value.extend(letters.next().map(|(_, escaped)| escaped));
            }
            _ => value.push(letter),
        }
    }
    // There is no end. The next quote or semicolon is the best guess.
    let end = text.find(['"', ';']).unwrap_or(text.len());
    let rest = split_at_semicolon(&text[end..]).1;
    (text[..end].into(), rest)
}

fn ends_value(after_quote: &str) -> bool {
    let after = after_quote.trim_start();
    after.is_empty() || after.starts_with(';')
}

/// Decodes `charset'language'percent-encoded`; none if it is malformed or in another character set.
fn decode_extended(value: &str) -> Option<String> {
    let mut parts = value.splitn(3, '\'');
    let (charset, _language, encoded) = (parts.next()?, parts.next()?, parts.next()?);
    let bytes = percent_decode(encoded)?;
    if charset.eq_ignore_ascii_case("utf-8") {
        return String::from_utf8(bytes).ok();
    }
    charset
        .eq_ignore_ascii_case("iso-8859-1")
        .then(|| latin_1(&bytes))
}

fn percent_decode(text: &str) -> Option<Vec<u8>> {
    let mut decoded = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        decoded.push(match byte {
            b'%' => hex_digit(bytes.next()?)? << 4 | hex_digit(bytes.next()?)?,
            _ if byte.is_ascii() => byte,
            _ => return None,
        });
    }
    Some(decoded)
}

fn hex_digit(byte: u8) -> Option<u8> {
    let digit = char::from(byte).to_digit(16)?;
    u8::try_from(digit).ok()
}
