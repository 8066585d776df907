//! Web addresses in requests and settings: origins of browsers, and URLs of documents and proxies.

use url::{Host, Position, Url};

/// The maximum length of the address of a document.
pub const MAX_ADDRESS_CHARACTERS: usize = 2_048;

/// The pattern of a document's address in the published API document. [`is_https_address`] is
/// stricter.
pub const HTTPS_PATTERN: &str = r"^https://[A-Za-z0-9._:\[\]-]+([/?][!-~]*)?$";

/// The explanation of an invalid document address.
pub const HTTPS_IN_WORDS: &str = "must be an https address without user and fragment";

const MAX_HOST_CHARACTERS: usize = 253;

/// Returns `true` for the origin of a web page exactly as a browser sends it in `Origin`:
/// `scheme://host[:port]` in lower case, with http or https, and without the scheme's default port. Any other spelling
/// would never match.
pub fn is_origin(text: &str) -> bool {
    origin_of(text).as_deref() == Some(text)
}

/// Returns `true` for an absolute https address without user, password and fragment.
pub fn is_https_address(text: &str) -> bool {
    parse(text).is_some_and(|url| url.scheme() == "https")
}

/// Returns `true` for such an https address, or an http address on loopback: the addresses that an
/// operator may configure.
pub fn is_https_or_loopback_address(text: &str) -> bool {
    parse(text).is_some_and(|url| url.scheme() == "https" || is_loopback(&url))
}

/// Returns `true` for such an http address at one of `hosts`. Each is `host`, with the default
/// port, or `host:port`, in lower case.
pub fn is_http_address_at(hosts: &[String], text: &str) -> bool {
    parse(text).is_some_and(|url| {
        let host = &url[Position::BeforeHost..Position::AfterPort];
        url.scheme() == "http" && hosts.iter().any(|it| it == host)
    })
}

/// Returns `true` for such an address with https or http, on any host: for services in the
/// operator's own network.
pub fn is_web_address(text: &str) -> bool {
    parse(text).is_some()
}

/// Returns `true` for such an address to which paths can be appended: without a query and a slash
/// at its end, and with a path that the parser does not change.
pub fn is_base_address(text: &str) -> bool {
    let (_, path_start) = authority(text);
    is_web_address(text) && text[path_start..] == path_of(text)
}

/// Returns `true` for the address of a proxy: such an address, which may contain a user and a
/// password.
pub fn is_proxy_address(text: &str) -> bool {
    let (start, end) = authority(text);
    let user_end = text[start..end]
        .rfind('@')
        .map_or(start, |at| start + at + 1);
    let is_forbidden = |letter: char| letter.is_whitespace() || letter.is_control();
    // Other characters of the user and the password are escaped on use.
    text.len() <= MAX_ADDRESS_CHARACTERS
        && !text[start..user_end].contains(is_forbidden)
        && is_web_address(&[&text[..start], &text[user_end..]].concat())
}

/// Returns `true` for such an address, with https or http, on loopback.
pub fn is_loopback_address(text: &str) -> bool {
    parse(text).is_some_and(|url| is_loopback(&url))
}

/// Returns the origin of a page at this address, as browsers send it in `Origin`; `None` if a page
/// cannot have this address.
pub fn origin_of(address: &str) -> Option<String> {
    parse(address).map(|url| url.origin().ascii_serialization())
}

/// Returns the path of an address without a slash at its end; empty if it has none.
pub fn path_of(address: &str) -> String {
    let url = parse(address);
    url.map_or_else(String::new, |url| {
        url.path().trim_end_matches('/').to_owned()
    })
}

/// Returns the host of an address with its port, even if the address is invalid. Logs contain no
/// more of an address, since paths and queries can contain secrets.
pub fn host(address: &str) -> &str {
    let (start, end) = authority(address);
    let authority = &address[start..end];
    authority
        .rsplit_once('@')
        .map_or(authority, |(_, host)| host)
}

/// Parses an absolute http or https address without user, password and fragment.
///
/// The parser corrects much: white space, backslashes, extra slashes, other spellings of hosts and
/// ports. Only the case of the host and the default port may differ from what it returns, so that
/// every reader of the text finds the same host.
fn parse(text: &str) -> Option<Url> {
    let is_plain = |byte: u8| byte.is_ascii_graphic() && !b"#\\\"<>^`{|}".contains(&byte);
    if text.len() > MAX_ADDRESS_CHARACTERS || !text.bytes().all(is_plain) {
        return None;
    }
    let url = Url::parse(text).ok()?;
    let default_port = match url.scheme() {
        "https" => ":443",
        "http" => ":80",
        _ => return None,
    };
    let (start, end) = authority(text);
    let is_host_valid = match url.host()? {
        Host::Domain(name) => is_host_name(name),
        Host::Ipv4(_) | Host::Ipv6(_) => true,
    };
    let written = text[start..end].to_ascii_lowercase();
    let parsed = &url[Position::BeforeHost..Position::AfterPort];
    let is_same_scheme = text[..start].strip_suffix("://") == Some(url.scheme());
    let is_same_host = written == parsed || written.strip_suffix(default_port) == Some(parsed);
    (is_host_valid && is_same_scheme && is_same_host && url.port() != Some(0)).then_some(url)
}

/// Returns the bounds of an address between the scheme and the path.
fn authority(address: &str) -> (usize, usize) {
    let start = address.find("://").map_or(0, |at| at + "://".len());
    let length = address[start..].find(['/', '?', '#', '\\']);
    (start, length.map_or(address.len(), |length| start + length))
}

fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

/// The parser accepts names that no resolver knows, such as `a..b` and `*.example`.
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
mod tests;
