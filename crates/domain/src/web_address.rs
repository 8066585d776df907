//! Web addresses in requests and settings: origins of browsers, and URLs of documents and proxies.

use std::net::{Ipv4Addr, Ipv6Addr};

/// The maximum length of the address of a document.
pub const MOST_ADDRESS_CHARACTERS: usize = 2_048;

/// The pattern of an origin in the published API document. [`is_origin`] is stricter.
pub const ORIGIN_PATTERN: &str = r"^https?://([a-z0-9._-]+|\[[0-9a-f:.]+\])(:[1-9][0-9]{0,4})?$";
/// The pattern of a document's address in the published API document. [`is_https_address`] is
/// stricter.
pub const HTTPS_PATTERN: &str = r"^https://[A-Za-z0-9._:\[\]-]+([/?][!-~]*)?$";

/// The explanation of an invalid origin.
pub const ORIGIN_IN_WORDS: &str =
    "must be an origin as browsers send it, such as https://shop.example:8443";
/// The explanation of an invalid document address.
pub const HTTPS_IN_WORDS: &str = "must be an https address without user and fragment";

const MAX_HOST_CHARACTERS: usize = 253;

/// Returns `true` for an origin exactly as a browser sends it in `Origin`: `scheme://host[:port]`
/// in lower case, with http or https, and without the scheme's default port. Any other spelling
/// would never match.
pub fn is_origin(text: &str) -> bool {
    let (authority, default_port) = if let Some(rest) = text.strip_prefix("https://") {
        (rest, 443)
    } else if let Some(rest) = text.strip_prefix("http://") {
        (rest, 80)
    } else {
        return false;
    };
    let is_lower_case = !authority.bytes().any(|byte| byte.is_ascii_uppercase());
    is_lower_case && Authority::read(authority).is_some_and(|it| it.port != Some(default_port))
}

/// Returns `true` for an absolute https address without user, password and fragment.
pub fn is_https_address(text: &str) -> bool {
    authority("https://", text).is_some()
}

/// Returns `true` for such an https address, or a http address on loopback: the addresses that an
/// operator may configure.
pub fn is_https_or_loopback_address(text: &str) -> bool {
    is_https_address(text) || authority("http://", text).is_some_and(|it| it.is_loopback)
}

/// Returns `true` for such an address with https or http, on any host: for services in the
/// operator's own network.
pub fn is_web_address(text: &str) -> bool {
    is_https_address(text) || authority("http://", text).is_some()
}

/// Returns `true` for the address of a proxy: such an address, which may contain a user and a
/// password.
pub fn is_proxy_address(text: &str) -> bool {
    let Some((scheme, rest)) = text.split_once("://") else {
        return false;
    };
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    let user_end = rest[..end].rfind('@').map_or(0, |at| at + 1);
    let (user, address) = rest.split_at(user_end);
    // With one of these two, the host would end before the `@`. Everything else is escaped on use.
    let is_forbidden = |letter: char| {
        letter.is_whitespace() || letter.is_control() || ['#', '\\'].contains(&letter)
    };
    let is_valid = text.len() <= MOST_ADDRESS_CHARACTERS && !user.contains(is_forbidden);
    is_valid && is_web_address(&format!("{scheme}://{address}"))
}

/// Returns `true` for such an address, with https or http, on loopback.
pub fn is_loopback_address(text: &str) -> bool {
    let authority = authority("https://", text).or_else(|| authority("http://", text));
    authority.is_some_and(|it| it.is_loopback)
}

/// Returns the origin of a page at this address, as browsers send it in `Origin`; `None` if a page
/// cannot have this address.
pub fn origin_of(address: &str) -> Option<String> {
    let (scheme, _) = address.split_once("://")?;
    let default_port = match scheme {
        "https" => ":443",
        "http" => ":80",
        _ => return None,
    };
    let authority = host(address).to_ascii_lowercase();
    let authority = authority.strip_suffix(default_port).unwrap_or(&authority);
    let origin = format!("{scheme}://{authority}");
    is_origin(&origin).then_some(origin)
}

/// Returns the path of an address without query and fragment; empty if it has none.
pub fn path_of(address: &str) -> &str {
    let rest = address.split_once("://").map_or(address, |(_, rest)| rest);
    rest.find('/').map_or("", |start| &rest[start..])
}

/// Returns the host of an address with its port. Logs contain no more of an address, since paths
/// and queries can contain secrets.
pub fn host(address: &str) -> &str {
    let rest = address.split_once("://").map_or(address, |(_, rest)| rest);
    let end = rest.find(['/', '?', '#', '\\']).unwrap_or(rest.len());
    let authority = &rest[..end];
    authority
        .rsplit_once('@')
        .map_or(authority, |(_, host)| host)
}

/// Returns the authority of an absolute address with this scheme; `None` if any part of the address
/// is invalid.
fn authority(scheme: &str, text: &str) -> Option<Authority> {
    let rest = text.strip_prefix(scheme)?;
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    let allowed = |byte: u8| byte.is_ascii_graphic() && !b"#\\\"<>^`{|}".contains(&byte);
    let is_valid = text.len() <= MOST_ADDRESS_CHARACTERS && path.bytes().all(allowed);
    Authority::read(authority).filter(|_| is_valid)
}

/// The part of an address between the scheme and the path.
struct Authority {
    /// `true` if the host is a loopback address.
    is_loopback: bool,
    port: Option<u16>,
}

impl Authority {
    /// Parses exactly `host[:port]`, where the host is a name or an IP address.
    fn read(text: &str) -> Option<Self> {
        let (is_loopback, after_host) = if let Some(rest) = text.strip_prefix('[') {
            let (address, after) = rest.split_once(']')?;
            (address.parse::<Ipv6Addr>().ok()?.is_loopback(), after)
        } else {
            let (host, after) = text.split_at(text.find(':').unwrap_or(text.len()));
            let address = host.parse::<Ipv4Addr>();
            let is_loopback = host == "localhost" || address.is_ok_and(|it| it.is_loopback());
            (is_host_name(host).then_some(is_loopback)?, after)
        };
        let port = match after_host.strip_prefix(':') {
            None if after_host.is_empty() => None,
            None => return None,
            Some(digits) => {
                // The only accepted spelling: no sign, no leading zero.
                let number: u16 = digits.parse().ok()?;
                Some((number > 0 && number.to_string() == digits).then_some(number)?)
            }
        };
        Some(Self { is_loopback, port })
    }
}

fn is_host_name(host: &str) -> bool {
    let is_label = |label: &str| {
        (1..=63).contains(&label.len())
            && label
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
    };
    host.len() <= MAX_HOST_CHARACTERS && host.split('.').all(is_label)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("https://id.example/realms/a?key=b#c", "id.example")]
    #[case("https://id.example:8443", "id.example:8443")]
    #[case("http://[::1]:8080/keys", "[::1]:8080")]
    #[case("https://ada:secret@id.example/", "id.example")]
    #[case("https://id.example?a=b@c", "id.example")]
    #[case("https://id.example\\a@b", "id.example")]
    #[case("id.example/a", "id.example")]
    fn the_host_of_an_address_is_returned(#[case] address: &str, #[case] expected: &str) {
        assert_eq!(host(address), expected);
    }

    #[rstest]
    #[case("https://agents.example", Some("https://agents.example"))]
    #[case("https://agents.example/behind/a/path", Some("https://agents.example"))]
    #[case("https://Agents.Example:443/", Some("https://agents.example"))]
    #[case("http://agents.example:80", Some("http://agents.example"))]
    #[case("http://agents.example:443", Some("http://agents.example:443"))]
    #[case("https://agents.example:80", Some("https://agents.example:80"))]
    #[case("http://[::1]:8080", Some("http://[::1]:8080"))]
    #[case("http://[::80]", Some("http://[::80]"))]
    #[case("ftp://agents.example", None)]
    #[case("https://", None)]
    #[case("agents.example", None)]
    fn the_origin_is_that_which_browsers_send(
        #[case] address: &str,
        #[case] expected: Option<&str>,
    ) {
        assert_eq!(origin_of(address).as_deref(), expected);
    }

    #[rstest]
    #[case("http://127.0.0.1:8080/keys", true)]
    #[case("https://localhost/keys", true)]
    #[case("http://[::1]/", true)]
    #[case("https://id.example/", false)]
    #[case("http://id.example/", false)]
    #[case("http://127.0.0.1.id.example/", false)]
    #[case("http://ada@localhost/", false)]
    #[case("ftp://localhost/", false)]
    fn loopback_addresses_are_recognised(#[case] text: &str, #[case] expected: bool) {
        assert_eq!(is_loopback_address(text), expected);
    }

    #[rstest]
    #[case("https://shop.example", true)]
    #[case("http://localhost:5173", true)]
    #[case("https://127.0.0.1:8443", true)]
    #[case("http://[::1]:3000", true)]
    #[case("https://xn--bcher-kva.example", true)]
    #[case("https://shop.example/", false)]
    #[case("https://shop.example/path", false)]
    #[case("https://Shop.example", false)]
    #[case("HTTPS://shop.example", false)]
    #[case("https://*.example", false)]
    #[case("*", false)]
    #[case("null", false)]
    #[case("shop.example", false)]
    #[case("ftp://shop.example", false)]
    #[case("https://", false)]
    #[case("https://a..b", false)]
    #[case("https://user@shop.example", false)]
    #[case("https://shop.example:0", false)]
    #[case("https://shop.example:08443", false)]
    #[case("https://shop.example:65536", false)]
    #[case("https://shop.example:", false)]
    #[case("https://shop.example:443", false)]
    #[case("http://shop.example:443", true)]
    #[case("http://[::1", false)]
    #[case("http://[::1]x", false)]
    #[case("https://bücher.example", false)]
    #[case("https://shop.example\n", false)]
    fn origins_are_recognised(#[case] text: &str, #[case] expected: bool) {
        assert_eq!(is_origin(text), expected);
    }

    #[rstest]
    #[case("https://client.example/jwks.json", true)]
    #[case("https://client.example", true)]
    #[case("https://client.example:8443/a/b?c=d%20e", true)]
    #[case("https://Client.Example/Keys", true)]
    #[case("https://[2001:db8::1]/keys", true)]
    #[case("http://client.example/jwks.json", false)]
    #[case("https://user:word@client.example/jwks.json", false)]
    #[case("https://user@client.example", false)]
    #[case("https://client.example/jwks.json#here", false)]
    #[case("https://client.example/a b", false)]
    #[case("https://client.example\\@evil.example/", false)]
    #[case("https:///jwks.json", false)]
    #[case("https://client.example/schlüssel", false)]
    #[case("file:///etc/passwd", false)]
    fn https_addresses_are_recognised(#[case] text: &str, #[case] expected: bool) {
        assert_eq!(is_https_address(text), expected);
    }

    #[rstest]
    #[case("https://id.example/keys", true)]
    #[case("http://localhost:8080/keys", true)]
    #[case("http://127.0.0.1/keys?a=b", true)]
    #[case("http://127.9.9.9", true)]
    #[case("http://[::1]:8080/realms/a", true)]
    #[case("http://id.example/keys", false)]
    #[case("http://10.0.0.1/keys", false)]
    #[case("http://localhost.example/keys", false)]
    #[case("http://127.0.0.1.example/keys", false)]
    #[case("http://localhost@id.example/keys", false)]
    #[case("http://localhost:x/keys", false)]
    #[case("http://[::2]/keys", false)]
    #[case("http://", false)]
    #[case("https://user@id.example", false)]
    #[case("localhost", false)]
    fn https_and_loopback_addresses_are_recognised(#[case] text: &str, #[case] expected: bool) {
        assert_eq!(is_https_or_loopback_address(text), expected);
    }

    #[rstest]
    #[case("http://proxy.internal:3128", true)]
    #[case("https://ada:word@proxy.internal", true)]
    #[case("http://ada:w%40rd@proxy.internal:3128/", true)]
    #[case("http://[::1]:3128/", true)]
    #[case("http://", false)]
    #[case("http://:3128", false)]
    #[case("http://ada@", false)]
    #[case("http://proxy.internal:99999", false)]
    #[case("http://proxy\n.internal", false)]
    #[case("http://ada\n@proxy.internal", false)]
    #[case("http://ada:w{ö}rd@proxy.internal", true)]
    #[case("http://ada:my word@proxy.internal", false)]
    #[case("http://ada#@proxy.internal", false)]
    #[case("http://ada\\@proxy.internal", false)]
    #[case("http://proxy..internal", false)]
    #[case("http://proxy.internal/#here", false)]
    #[case(" http://proxy.internal", false)]
    #[case("socks5://proxy.internal", false)]
    #[case("proxy.internal:3128", false)]
    fn proxy_addresses_are_recognised(#[case] text: &str, #[case] expected: bool) {
        assert_eq!(is_proxy_address(text), expected);
    }

    #[test]
    fn an_address_has_a_maximum_length() {
        let base = "https://client.example/";
        let longest = format!("{base}{}", "a".repeat(MOST_ADDRESS_CHARACTERS - base.len()));
        assert!(is_https_address(&longest));
        assert!(!is_https_address(&format!("{longest}a")));
    }

    proptest! {
        #[test]
        fn parsing_never_panics(text in "(https?://)?\\PC*") {
            let _ = is_origin(&text);
            let _ = is_https_or_loopback_address(&text);
            let _ = is_proxy_address(&text);
        }
    }
}
