//! Members that matter little, or that some servers send with another type. A value that cannot be
//! used counts as absent.

use std::borrow::Cow;

use serde::{
    Deserialize, Deserializer,
    de::{DeserializeOwned, Error as _},
};
use serde_json::{Value, from_str, value::RawValue};

/// The maximum number of tokens that is plausible for one request.
const MAX_TOKENS: f64 = 1e9;

/// Reads a text; numbers are accepted.
pub(crate) fn text<'de, D: Deserializer<'de>>(source: D) -> Result<Option<String>, D::Error> {
    Ok(match Value::deserialize(source)? {
        Value::String(text) => Some(text),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    })
}

/// Reads a text without copying it, if it has no escapes; another value counts as empty.
pub(crate) fn borrowed_text<'de, D: Deserializer<'de>>(
    source: D,
) -> Result<Cow<'de, str>, D::Error> {
    #[derive(Deserialize)]
    struct Text<'a>(#[serde(borrow)] Cow<'a, str>);
    let raw = <&RawValue>::deserialize(source)?.get();
    if !raw.starts_with('"') {
        return Ok(Cow::Borrowed(""));
    }
    from_str(raw)
        .map(|Text(text)| text)
        .map_err(D::Error::custom)
}

/// Reads an index; digits in a text are accepted.
pub(crate) fn index<'de, D: Deserializer<'de>>(source: D) -> Result<Option<u32>, D::Error> {
    Ok(text(source)?.and_then(|digits| digits.parse().ok()))
}

/// Reads the usable elements of a list; an element without a list around it is accepted.
pub(crate) fn list<'de, D, T>(source: D) -> Result<Option<Vec<T>>, D::Error>
where
    D: Deserializer<'de>,
    T: DeserializeOwned,
{
    // Not as `Value`, which would change large numbers.
    let raw = Box::<RawValue>::deserialize(source)?;
    let elements: Vec<Box<RawValue>> = match raw.get().as_bytes() {
        [b'[', ..] => from_str(raw.get()).unwrap_or_default(),
        [b'{', ..] if raw.get() != "{}" => vec![raw],
        _ => return Ok(None),
    };
    let usable = elements.iter().filter(|it| it.get().starts_with('{'));
    Ok(Some(
        usable.filter_map(|it| from_str(it.get()).ok()).collect(),
    ))
}

/// Reads a count of tokens. Some servers write integers as `12.0`.
pub(crate) fn count(raw: &RawValue) -> Option<i64> {
    let count: f64 = from_str(raw.get()).ok()?;
    let is_valid = count.fract() == 0.0 && (0.0..=MAX_TOKENS).contains(&count);
    #[expect(clippy::cast_possible_truncation, reason = "it is whole and small")]
    is_valid.then_some(count as i64)
}
