//! The header `Forwarded` (RFC 7239).

use std::{iter::Peekable, net::IpAddr, str::Chars};

use super::address::parse_address;

/// Returns the hops of one line of `Forwarded`, starting at the client: the value of `for` in each
/// element, or `None` if it is not an address. A malformed element is one such hop, and ends the
/// line.
pub(super) fn forwarded_hops(line: &str) -> Vec<Option<IpAddr>> {
    let mut hops = Vec::new();
    let mut rest = line.chars().peekable();
    loop {
        skip_space(&mut rest);
        match rest.peek() {
            None => return hops,
            // Lists may contain empty elements.
            Some(',') => {
                rest.next();
            }
            Some(_) => {
                let hop = element(&mut rest);
                hops.push(hop.unwrap_or(None));
                if hop.is_err() {
                    return hops;
                }
            }
        }
    }
}

/// The text is no element.
#[derive(Debug, Clone, Copy)]
struct MalformedElement;

/// Parses `name=value;name=value` up to the next comma. Returns the value of `for`, if it is an
/// address.
fn element(rest: &mut Peekable<Chars<'_>>) -> Result<Option<IpAddr>, MalformedElement> {
    let mut client = None;
    loop {
        let (name, value) = pair(rest).ok_or(MalformedElement)?;
        if name.eq_ignore_ascii_case("for") {
            // Each name may occur once.
            if client.is_some() {
                return Err(MalformedElement);
            }
            client = Some(parse_address(&value));
        }
        skip_space(rest);
        match rest.peek() {
            None | Some(',') => return Ok(client.flatten()),
            Some(';') => {
                rest.next();
                skip_space(rest);
            }
            Some(_) => return Err(MalformedElement),
        }
    }
}

fn pair(rest: &mut Peekable<Chars<'_>>) -> Option<(String, String)> {
    let name = token(rest)?;
    rest.next_if_eq(&'=')?;
    let value = match rest.peek() {
        Some('"') => quoted(rest)?,
        _ => token(rest)?,
    };
    Some((name, value))
}

/// Parses a token. Colons and brackets must be quoted, but not every proxy does so.
fn token(rest: &mut Peekable<Chars<'_>>) -> Option<String> {
    let belongs = |it: &char| it.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~:[]".contains(*it);
    let mut token = String::new();
    while let Some(character) = rest.next_if(belongs) {
        token.push(character);
    }
    (!token.is_empty()).then_some(token)
}

fn quoted(rest: &mut Peekable<Chars<'_>>) -> Option<String> {
    rest.next_if_eq(&'"')?;
    let mut text = String::new();
    loop {
        match rest.next()? {
            '"' => return Some(text),
            '\\' => text.push(rest.next()?),
            other => text.push(other),
        }
    }
}

fn skip_space(rest: &mut Peekable<Chars<'_>>) {
    while rest.next_if(|it| matches!(it, ' ' | '\t')).is_some() {}
}

#[cfg(test)]
mod tests {
    use super::*;

    fn addresses(line: &str) -> Vec<Option<String>> {
        let hops = forwarded_hops(line).into_iter();
        hops.map(|hop| hop.map(|address| address.to_string()))
            .collect()
    }

    #[track_caller]
    fn assert_hops(line: &str, expected: &[Option<&str>]) {
        let expected: Vec<_> = expected
            .iter()
            .map(|it| it.map(ToOwned::to_owned))
            .collect();
        assert_eq!(addresses(line), expected, "{line}");
    }

    #[test]
    fn the_addresses_of_all_hops_are_returned() {
        assert_hops("for=192.0.2.60", &[Some("192.0.2.60")]);
        assert_hops(
            r#"for=192.0.2.43, FOR="[2001:db8:cafe::17]:4711";proto=https;by=203.0.113.43"#,
            &[Some("192.0.2.43"), Some("2001:db8:cafe::17")],
        );
        assert_hops(
            r#"proto=http;for="192.0.2.43:47011",,  for="198\.51.100.17" ,"#,
            &[Some("192.0.2.43"), Some("198.51.100.17")],
        );
        assert_hops("for=[2001:db8::1]", &[Some("2001:db8::1")]);
    }

    #[test]
    fn a_hidden_client_has_no_address() {
        assert_hops(
            r#"for=_hidden, for=unknown, for="_SEVKISEK", proto=https, for=192.0.2.1"#,
            &[None, None, None, None, Some("192.0.2.1")],
        );
    }

    #[test]
    fn a_malformed_element_ends_the_line() {
        for broken in [
            "192.0.2.1",
            "for",
            "for=",
            "=192.0.2.1",
            r#"for="192.0.2.1"#,
            r#"for="192.0.2.1\"#,
            "for=192.0.2.1;for=192.0.2.2",
            "for=192.0.2.1 for=192.0.2.2",
            "for=192.0.2.1;",
            "for=ä",
        ] {
            assert_hops(broken, &[None]);
            let behind = format!("for=192.0.2.9, {broken}, for=192.0.2.10");
            let hops = addresses(&behind);
            assert_eq!(hops[0].as_deref(), Some("192.0.2.9"), "{behind}");
            assert_eq!(hops[1], None, "{behind}");
        }
    }
}
