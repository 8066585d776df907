//! Addresses in the web that clients name: origins of browsers, and where key sets are published.

use std::net::{Ipv4Addr, Ipv6Addr};

/// The longest address of a document.
pub const MOST_ADDRESS_CHARACTERS: usize = 2_048;

/// The form of an origin, as the published document states it. [`is_origin`] is stricter.
pub const ORIGIN_PATTERN: &str = r"^https?://([a-z0-9._-]+|\[[0-9a-f:.]+\])(:[1-9][0-9]{0,4})?$";
/// The form of a document's address, as the published document states it. [`is_https_address`] is
/// stricter.
pub const HTTPS_PATTERN: &str = r"^https://[A-Za-z0-9._:\[\]-]+([/?][!-~]*)?$";

/// What an origin must be, for who sent something else.
pub const ORIGIN_IN_WORDS: &str =
    "must be an origin as browsers send it, such as https://shop.example:8443";
/// What a document's address must be, for who sent something else.
pub const HTTPS_IN_WORDS: &str = "must be an https address without user and fragment";

const MOST_HOST_CHARACTERS: usize = 253;

/// Whether `text` is an origin exactly as a browser sends it in `Origin`: `scheme://host[:port]`
/// in lower case, with http or https, and without the scheme's own port. Any other spelling would
/// never match.
pub fn is_origin(text: &str) -> bool {
    let (authority, own_port) = if let Some(rest) = text.strip_prefix("https://") {
        (rest, 443)
    } else if let Some(rest) = text.strip_prefix("http://") {
        (rest, 80)
    } else {
        return false;
    };
    let is_lower_case = !authority.bytes().any(|byte| byte.is_ascii_uppercase());
    is_lower_case && Authority::read(authority).is_some_and(|it| it.port != Some(own_port))
}

/// Whether `text` is an absolute https address without user, password and fragment.
pub fn is_https_address(text: &str) -> bool {
    authority("https://", text).is_some()
}

/// Whether `text` is such an address, or one of http on this very machine: what an operator may
/// name.
pub fn is_https_or_loopback_address(text: &str) -> bool {
    is_https_address(text) || authority("http://", text).is_some_and(|it| it.is_loopback)
}

/// Whether `text` is such an address by https or http, anywhere: what an operator may name of a
/// network of its own.
pub fn is_web_address(text: &str) -> bool {
    is_https_address(text) || authority("http://", text).is_some()
}

/// Whether `text` is where a proxy is: such an address, which may name a user and a password.
pub fn is_proxy_address(text: &str) -> bool {
    let Some((scheme, rest)) = text.split_once("://") else {
        return false;
    };
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    let behind_user = rest[..end].rfind('@').map_or(0, |at| at + 1);
    let (user, address) = rest.split_at(behind_user);
    // With one of these two, the host would end before the `@`. All else is escaped when it is used.
    let is_bad = |letter: char| {
        letter.is_whitespace() || letter.is_control() || ['#', '\\'].contains(&letter)
    };
    let is_good = text.len() <= MOST_ADDRESS_CHARACTERS && !user.contains(is_bad);
    is_good && is_web_address(&format!("{scheme}://{address}"))
}

/// Whether `text` is such an address, by https or http, on this very machine.
pub fn is_loopback_address(text: &str) -> bool {
    let authority = authority("https://", text).or_else(|| authority("http://", text));
    authority.is_some_and(|it| it.is_loopback)
}

/// The origin of a page at an address, as browsers send it in `Origin`; nothing when pages cannot
/// be there.
pub fn origin_of(address: &str) -> Option<String> {
    let (scheme, _) = address.split_once("://")?;
    let own_port = match scheme {
        "https" => ":443",
        "http" => ":80",
        _ => return None,
    };
    let authority = host(address).to_ascii_lowercase();
    let authority = authority.strip_suffix(own_port).unwrap_or(&authority);
    let origin = format!("{scheme}://{authority}");
    is_origin(&origin).then_some(origin)
}

/// The path of an address that has no query and no fragment; empty when it has none.
pub fn path_of(address: &str) -> &str {
    let rest = address.split_once("://").map_or(address, |(_, rest)| rest);
    rest.find('/').map_or("", |start| &rest[start..])
}

/// The host of an address, with its port: all of it that a log needs, since paths and queries may
/// hold secrets.
pub fn host(address: &str) -> &str {
    let rest = address.split_once("://").map_or(address, |(_, rest)| rest);
    let end = rest.find(['/', '?', '#', '\\']).unwrap_or(rest.len());
    let authority = &rest[..end];
    authority
        .rsplit_once('@')
        .map_or(authority, |(_, host)| host)
}

/// The authority of an absolute address with this beginning; nothing when anything in the address
/// is not as it must be.
fn authority(scheme: &str, text: &str) -> Option<Authority> {
    let rest = text.strip_prefix(scheme)?;
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    let allowed = |byte: u8| byte.is_ascii_graphic() && !b"#\\\"<>^`{|}".contains(&byte);
    let is_good = text.len() <= MOST_ADDRESS_CHARACTERS && path.bytes().all(allowed);
    Authority::read(authority).filter(|_| is_good)
}

/// What stands between the scheme and the path.
struct Authority {
    /// Whether the host is this very machine.
    is_loopback: bool,
    port: Option<u16>,
}

impl Authority {
    /// Reads `host[:port]`, where the host is a name or an address, and nothing else.
    fn read(text: &str) -> Option<Self> {
        let (is_loopback, behind_host) = if let Some(rest) = text.strip_prefix('[') {
            let (address, behind) = rest.split_once(']')?;
            (address.parse::<Ipv6Addr>().ok()?.is_loopback(), behind)
        } else {
            let (host, behind) = text.split_at(text.find(':').unwrap_or(text.len()));
            let address = host.parse::<Ipv4Addr>();
            let is_loopback = host == "localhost" || address.is_ok_and(|it| it.is_loopback());
            (is_host_name(host).then_some(is_loopback)?, behind)
        };
        let port = match behind_host.strip_prefix(':') {
            None if behind_host.is_empty() => None,
            None => return None,
            Some(digits) => {
                // The one spelling: no sign, no leading zero.
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
    host.len() <= MOST_HOST_CHARACTERS && host.split('.').all(is_label)
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
    fn of_an_address_its_host_is_told(#[case] address: &str, #[case] expected: &str) {
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
    fn an_origin_is_told_as_browsers_send_it(
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
    fn an_address_may_be_of_this_very_machine(#[case] text: &str, #[case] expected: bool) {
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
    fn knows_an_origin(#[case] text: &str, #[case] expected: bool) {
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
    fn knows_an_https_address(#[case] text: &str, #[case] expected: bool) {
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
    fn knows_an_address_that_the_operator_may_name(#[case] text: &str, #[case] expected: bool) {
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
    fn knows_a_proxy(#[case] text: &str, #[case] expected: bool) {
        assert_eq!(is_proxy_address(text), expected);
    }

    #[test]
    fn an_address_has_a_longest() {
        let base = "https://client.example/";
        let longest = format!("{base}{}", "a".repeat(MOST_ADDRESS_CHARACTERS - base.len()));
        assert!(is_https_address(&longest));
        assert!(!is_https_address(&format!("{longest}a")));
    }

    proptest! {
        #[test]
        fn never_panics_on_anything(text in "(https?://)?\\PC*") {
            let _ = is_origin(&text);
            let _ = is_https_or_loopback_address(&text);
            let _ = is_proxy_address(&text);
        }
    }
}
