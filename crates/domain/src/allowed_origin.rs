//! Entries of a list of allowed origins, of the service or of a credential.
//!
//! An entry is an origin exactly as browsers send it in `Origin`, of a web page or of an app
//! (`tauri://localhost`, `chrome-extension://…`). `https://*.example.org` stands for all origins
//! with one more label. `null`, which pages of files and of sandboxed frames send, is an entry like
//! any other.

use crate::web_address;

/// The pattern of an entry in the published API document. [`is_entry`] is stricter.
pub const ENTRY_PATTERN: &str =
    r"^(null|[a-z][a-z0-9+.-]*://(\*\.)?([a-z0-9._-]+|\[[0-9a-f:.]+\])(:[1-9][0-9]{0,4})?)$";
/// The explanation of an invalid entry.
pub const ENTRY_IN_WORDS: &str = "must be an origin exactly as browsers send it, such as https://shop.example:8443 or \
     tauri://localhost, without the default port; or `https://*.shop.example`, for one more label; \
     or `null`";

const WILDCARD: &str = "://*.";
/// Schemes of which no browser sends an origin with a host. An entry with one is a mistake.
const OTHER_SCHEMES: &[&str] = &["file", "ftp", "ws", "wss"];

/// Returns `true` for an entry that an origin can match.
pub fn is_entry(text: &str) -> bool {
    if text == "null" {
        return true;
    }
    match text.split_once(WILDCARD) {
        // One more label of a name without dots would be any site of a registry, such as `.org`.
        Some((scheme, rest)) => {
            let name = rest.split(':').next().unwrap_or_default();
            let is_numeric = name.split('.').all(|label| label.parse::<u32>().is_ok());
            (name.contains('.') || name == "localhost")
                && !is_numeric
                && is_exact(&format!("{scheme}://{rest}"))
        }
        None => is_exact(text),
    }
}

/// Returns `true` if an entry allows an origin.
pub fn allows(entry: &str, origin: &str) -> bool {
    let Some((scheme, rest)) = entry.split_once(WILDCARD) else {
        return entry == origin;
    };
    let label = origin
        .strip_prefix(scheme)
        .and_then(|origin| origin.strip_prefix("://"))
        .and_then(|origin| origin.strip_suffix(rest))
        .and_then(|origin| origin.strip_suffix('.'));
    label.is_some_and(|label| !label.is_empty() && label.bytes().all(is_label_byte))
}

/// Returns `true` for one origin: `scheme://host[:port]` in lower case.
fn is_exact(text: &str) -> bool {
    let Some((scheme, host)) = text.split_once("://") else {
        return false;
    };
    let is_scheme = scheme.starts_with(|first: char| first.is_ascii_lowercase())
        && scheme.bytes().all(|byte| {
            byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"+.-".contains(&byte)
        });
    if matches!(scheme, "http" | "https") {
        return web_address::is_origin(text);
    }
    // Other schemes have no default port. The host follows the same rules.
    is_scheme && !OTHER_SCHEMES.contains(&scheme) && {
        let port = host.rsplit_once(':').filter(|_| !host.ends_with(']'));
        let has_default_port = port.is_some_and(|(_, port)| port == "80");
        let page = if has_default_port { "https" } else { "http" };
        web_address::is_origin(&format!("{page}://{host}"))
    }
}

fn is_label_byte(byte: u8) -> bool {
    byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-_".contains(&byte)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("https://shop.example")]
    #[case("http://localhost:5173")]
    #[case("http://[::1]:3000")]
    #[case("tauri://localhost")]
    #[case("capacitor://localhost")]
    #[case("ionic://localhost")]
    #[case("app://obsidian.md")]
    #[case("app://localhost:80")]
    #[case("app://localhost:443")]
    #[case("chrome-extension://cjpalhdlnbpafiamejdnhcphjbkeiagm")]
    #[case("moz-extension://0f6cbf53-7d4c-4b2b-a4d5-8c2b0a7a6f3e")]
    #[case("vscode-webview://1cq5m8jnl2kqk9h3g7b0c4d6e8f0a2b4c6d8e0f2")]
    #[case("https://*.example.org")]
    #[case("https://*.example.org:8443")]
    #[case("http://*.localhost:5173")]
    #[case("null")]
    fn an_entry_is_an_origin_as_browsers_send_it(#[case] entry: &str) {
        assert!(is_entry(entry));
    }

    #[rstest]
    #[case("")]
    #[case("*")]
    #[case("https://*")]
    #[case("https://*.org")]
    #[case("https://*.")]
    #[case("https://*.*.example.org")]
    #[case("https://a.*.example.org")]
    #[case("https://a*.example.org")]
    #[case("https://*.127.0.0.1")]
    #[case("https://*.[::1]")]
    #[case("https://*.example.org:443")]
    #[case("https://*.example.org/")]
    #[case("*.example.org")]
    #[case("tauri://localhost/")]
    #[case("Tauri://localhost")]
    #[case("tauri://Localhost")]
    #[case("tauri://")]
    #[case("tauri:localhost")]
    #[case("tauri://localhost:0")]
    #[case("tauri://user@localhost")]
    #[case("1app://localhost")]
    #[case("://localhost")]
    #[case("file://localhost")]
    #[case("ws://localhost")]
    #[case("https://shop.example:443")]
    #[case("NULL")]
    #[case("null ")]
    fn no_origin_matches_another_text(#[case] entry: &str) {
        assert!(!is_entry(entry));
    }

    #[rstest]
    #[case("https://shop.example", "https://shop.example", true)]
    #[case("https://shop.example", "https://www.shop.example", false)]
    #[case("tauri://localhost", "tauri://localhost", true)]
    #[case("tauri://localhost", "http://localhost", false)]
    #[case("tauri://localhost", "null", false)]
    #[case("null", "null", true)]
    #[case("https://*.example.org", "https://a.example.org", true)]
    #[case("https://*.example.org", "https://pull-7_b.example.org", true)]
    #[case("https://*.example.org", "https://example.org", false)]
    #[case("https://*.example.org", "https://.example.org", false)]
    #[case("https://*.example.org", "https://a.b.example.org", false)]
    #[case("https://*.example.org", "https://evilexample.org", false)]
    #[case("https://*.example.org", "https://evil.com/.example.org", false)]
    #[case("https://*.example.org", "https://evil.com:80.example.org", false)]
    #[case("https://*.example.org", "https://a@b.example.org", false)]
    #[case("https://*.example.org", "https://a.example.org.evil.com", false)]
    #[case("https://*.example.org", "https://a.example.org:8443", false)]
    #[case("https://*.example.org", "http://a.example.org", false)]
    #[case("https://*.example.org", "https://*.example.org", false)]
    #[case("https://*.example.org", "null", false)]
    #[case("https://*.example.org:8443", "https://a.example.org:8443", true)]
    fn an_entry_allows_its_origins_alone(
        #[case] entry: &str,
        #[case] origin: &str,
        #[case] expected: bool,
    ) {
        assert_eq!(allows(entry, origin), expected);
    }
}
