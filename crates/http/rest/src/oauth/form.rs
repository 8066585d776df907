//! Strict parsing of forms (`application/x-www-form-urlencoded`): ambiguous forms are rejected.

use std::{collections::BTreeMap, fmt};

/// The parameters of a form, each once. `Debug` hides them, because some are secrets.
#[derive(Default, PartialEq, Eq)]
pub(super) struct Form(BTreeMap<String, String>);

impl fmt::Debug for Form {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Form").finish_non_exhaustive()
    }
}

/// The error for a body that is no form.
const NO_FORM: &str = "the body is not a form";
/// The error for a duplicate parameter, which two parsers could interpret differently.
const REPEATED: &str = "every parameter must be sent at most once";

impl Form {
    /// Parses a form. A parameter without a value counts as absent (RFC 6749, 3.2).
    pub(super) fn read(body: &[u8]) -> Result<Self, &'static str> {
        let body = std::str::from_utf8(body).map_err(|_not_text| NO_FORM)?;
        let mut parameters = BTreeMap::new();
        for pair in body.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let name = decode(name).ok_or(NO_FORM)?;
            let value = decode(value).ok_or(NO_FORM)?;
            if parameters.insert(name, value).is_some() {
                return Err(REPEATED);
            }
        }
        parameters.retain(|_, value| !value.is_empty());
        Ok(Self(parameters))
    }

    /// Removes and returns a parameter of the form.
    pub(super) fn take(&mut self, name: &str) -> Option<String> {
        self.0.remove(name)
    }
}

/// Decodes form-encoded text; `None` if it is malformed or not UTF-8.
pub(super) fn decode(text: &str) -> Option<String> {
    let mut bytes = text.bytes();
    let mut decoded = Vec::with_capacity(text.len());
    while let Some(byte) = bytes.next() {
        decoded.push(match byte {
            b'+' => b' ',
            b'%' => {
                let (high, low) = (digit(bytes.next()?)?, digit(bytes.next()?)?);
                high * 16 + low
            }
            other => other,
        });
    }
    String::from_utf8(decoded).ok()
}

fn digit(byte: u8) -> Option<u8> {
    let digit = char::from(byte).to_digit(16)?;
    u8::try_from(digit).ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(body: &str) -> Result<Vec<(String, String)>, &'static str> {
        Form::read(body.as_bytes()).map(|form| form.0.into_iter().collect())
    }

    #[test]
    fn forms_of_browsers_and_libraries_are_parsed() {
        let read = read("&scope=agents%3Aread+chat%3awrite&empty=&bare&%C3%A4=%25&&").unwrap();
        let expected = [("scope", "agents:read chat:write"), ("ä", "%")];
        let expected = expected.map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(read, expected);
    }

    #[test]
    fn a_duplicate_parameter_is_rejected_in_any_encoding() {
        for body in ["a=1&a=2", "a=1&a=1", "a=1&%61=2", "a=&a=1", "a&a"] {
            assert_eq!(read(body), Err(REPEATED), "{body}");
        }
    }

    #[test]
    fn a_malformed_form_is_rejected() {
        for body in ["a=%", "a=%4", "a=%zz", "a=%+1", "%ff=a", "a=%c3"] {
            assert_eq!(read(body), Err(NO_FORM), "{body}");
        }
        assert_eq!(Form::read(b"a=\xff"), Err(NO_FORM));
    }

    #[test]
    fn debug_hides_the_parameters() {
        let form = Form::read(b"client_secret=hidden").unwrap();
        assert_eq!(format!("{form:?}"), "Form { .. }");
    }

    proptest! {
        #[test]
        fn never_panics_on_anything(body: Vec<u8>) {
            let _ = Form::read(&body);
        }
    }
}
