//! The id and secret of a client in `Authorization: Basic`.

use actix_web::http::header::{self, HeaderMap};
use base64::{
    Engine,
    alphabet::STANDARD,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
};

use super::form::decode;

/// Some libraries omit the padding (`=`).
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// The content of the header.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Basic {
    /// The header is absent.
    Absent,
    /// The header has no id and secret.
    Malformed,
    /// There is more than one header.
    Repeated,
    /// An id and a secret.
    Present(String, String),
}

/// Parses the header. Both parts are form-encoded before they are joined (RFC 6749, 2.3.1).
pub(super) fn read(headers: &HeaderMap) -> Basic {
    let mut values = headers.get_all(header::AUTHORIZATION);
    match (values.next(), values.next()) {
        (None, _) => Basic::Absent,
        (Some(_), Some(_)) => Basic::Repeated,
        (Some(value), None) => match value.to_str().ok().and_then(id_and_secret) {
            Some((id, secret)) => Basic::Present(id, secret),
            None => Basic::Malformed,
        },
    }
}

fn id_and_secret(value: &str) -> Option<(String, String)> {
    let (scheme, encoded) = value.split_once(' ')?;
    if !scheme.eq_ignore_ascii_case("basic") {
        return None;
    }
    let joined = String::from_utf8(BASE64.decode(encoded.trim()).ok()?).ok()?;
    let (id, secret) = joined.split_once(':')?;
    Some((decode(id)?, decode(secret)?))
}

#[cfg(test)]
mod tests {
    use actix_web::http::header::{AUTHORIZATION, HeaderValue};

    use super::*;

    fn from(values: &[&str]) -> Basic {
        let mut headers = HeaderMap::new();
        for value in values {
            let value = HeaderValue::from_str(value).expect("a header");
            headers.append(AUTHORIZATION, value);
        }
        read(&headers)
    }

    fn basic(joined: &str) -> String {
        format!("Basic {}", BASE64.encode(joined))
    }

    #[test]
    fn both_parts_are_decoded_after_splitting() {
        let shown = |id: &str, secret: &str| Basic::Present(id.to_owned(), secret.to_owned());
        assert_eq!(from(&[&basic("ada:secret")]), shown("ada", "secret"));
        assert_eq!(from(&[&basic("a%3Ab:c+d%25")]), shown("a:b", "c d%"));
        assert_eq!(from(&[&basic("ada:a:b")]), shown("ada", "a:b"));
        assert_eq!(from(&[&basic("ada:")]), shown("ada", ""));
        assert_eq!(from(&["bASIC  YTpi"]), shown("a", "b"));
        assert_eq!(from(&["Basic YWE6YmI="]), shown("aa", "bb"));
        assert_eq!(from(&["Basic YWE6YmI"]), shown("aa", "bb"));
    }

    #[test]
    fn any_other_value_is_malformed() {
        assert_eq!(from(&[]), Basic::Absent);
        assert_eq!(from(&[&basic("a:b"), &basic("a:b")]), Basic::Repeated);
        let not_text = format!("Basic {}", BASE64.encode(b"\xff:a"));
        for value in [
            "",
            "Basic",
            "Basic ",
            "Basic !",
            "Bearer YTpi",
            &basic("without a colon"),
            &basic("a:%zz"),
            &not_text,
        ] {
            assert_eq!(from(&[value]), Basic::Malformed, "{value}");
        }
    }
}
