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
fn the_origin_is_that_which_browsers_send(#[case] address: &str, #[case] expected: Option<&str>) {
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
#[case("https://@client.example/", false)]
#[case("https://client.example:/", false)]
#[case("https://client.example:0443/", false)]
#[case("https://client.example:443/", true)]
#[case("https://127.1/", false)]
#[case("https://0x7f000001/", false)]
#[case("https://[0:0::1]/", false)]
#[case("https://ex%61mple.com/", false)]
#[case("HTTPS://client.example/", false)]
#[case("https:/client.example/", false)]
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
#[case("http://LOCALHOST:8080/", true)]
#[case("http://127.1/", false)]
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

#[rstest]
#[case("https://Agents.example:8443", true)]
#[case("http://[::1]/behind/a%20path", true)]
#[case("https://agents.example/", false)]
#[case("https://agents.example/a/", false)]
#[case("https://agents.example/a?b", false)]
#[case("https://agents.example?b", false)]
#[case("https://agents.example/a/../b", false)]
#[case("https://agents.example/a/%2e%2e/b", false)]
#[case("https://agents.example/./b", false)]
#[case("agents.example", false)]
fn base_addresses_are_recognised(#[case] text: &str, #[case] expected: bool) {
    assert_eq!(is_base_address(text), expected);
}

#[rstest]
#[case("https://agents.example", "")]
#[case("https://agents.example/", "")]
#[case("https://agents.example/behind/a/path", "/behind/a/path")]
#[case("https://agents.example/a?b=/c", "/a")]
#[case("agents.example/a", "")]
fn the_path_of_an_address_is_returned(#[case] address: &str, #[case] expected: &str) {
    assert_eq!(path_of(address), expected);
}

#[test]
fn an_address_has_a_maximum_length() {
    let base = "https://client.example/";
    let longest = format!("{base}{}", "a".repeat(MAX_ADDRESS_CHARACTERS - base.len()));
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
