use std::net::{Ipv4Addr, Ipv6Addr};

use actix_web::http::header::HeaderValue;
use proptest::prelude::*;

use super::*;

/// The proxies of these tests: a network of each kind, and one host.
fn proxies() -> TrustedProxies {
    let networks = ["10.0.0.0/8", "fd00::/8", "192.0.2.200/32"];
    TrustedProxies::new(networks.map(|it| it.parse().unwrap()).to_vec())
}

fn headers(lines: &[(&str, &str)]) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for (name, value) in lines {
        let name = HeaderName::from_bytes(name.as_bytes()).unwrap();
        headers.append(name, HeaderValue::from_bytes(value.as_bytes()).unwrap());
    }
    headers
}

#[track_caller]
fn assert_client(peer: &str, lines: &[(&str, &str)], expected: &str) {
    let client = proxies().client_address(peer.parse().unwrap(), &headers(lines));
    assert_eq!(client.to_string(), expected, "{peer} {lines:?}");
}

#[test]
fn headers_of_an_untrusted_peer_are_ignored() {
    let forged = [
        ("x-forwarded-for", "198.51.100.1"),
        ("forwarded", "for=198.51.100.1"),
    ];
    for peer in ["203.0.113.9", "2001:db8::9"] {
        assert_client(peer, &forged, peer);
    }
    assert_client("::ffff:203.0.113.9", &forged, "203.0.113.9");
}

#[test]
fn a_trusted_proxy_reports_its_client() {
    for (header, value, client) in [
        ("x-forwarded-for", "198.51.100.1", "198.51.100.1"),
        ("x-forwarded-for", "198.51.100.1:4711", "198.51.100.1"),
        ("x-forwarded-for", "198.51.100.1:_web", "198.51.100.1"),
        ("x-forwarded-for", "2001:db8::1", "2001:db8::1"),
        ("x-forwarded-for", "[2001:db8::1]", "2001:db8::1"),
        ("x-forwarded-for", "[2001:db8::1]:4711", "2001:db8::1"),
        ("x-forwarded-for", "::ffff:198.51.100.1", "198.51.100.1"),
        ("forwarded", "for=198.51.100.1", "198.51.100.1"),
        ("forwarded", r#"for="[2001:db8::1]:4711""#, "2001:db8::1"),
        ("forwarded", r#"for="[2001:db8::1]:_a";by=x"#, "2001:db8::1"),
    ] {
        for peer in ["10.1.2.3", "::ffff:10.1.2.3", "fd00::7", "192.0.2.200"] {
            assert_client(peer, &[(header, value)], client);
        }
    }
}

#[test]
fn without_a_header_the_client_is_the_proxy() {
    assert_client("10.1.2.3", &[], "10.1.2.3");
    assert_client("10.1.2.3", &[("x-forwarded-for", "")], "10.1.2.3");
    assert_client("10.1.2.3", &[("forwarded", " , ")], "10.1.2.3");
}

#[test]
fn the_right_most_untrusted_address_is_the_client() {
    for value in [
        "198.51.100.1",
        "198.51.100.1, 10.9.9.9",
        "8.8.8.8, 198.51.100.1,10.9.9.9 ,fd00::1",
        "garbage, 10.0.0.1, 198.51.100.1, 192.0.2.200",
    ] {
        assert_client("10.1.2.3", &[("x-forwarded-for", value)], "198.51.100.1");
    }
    let lines = [
        ("x-forwarded-for", "8.8.8.8, 198.51.100.1"),
        ("x-forwarded-for", "10.9.9.9, 10.8.8.8"),
        ("x-forwarded-for", "fd00::1"),
    ];
    assert_client("10.1.2.3", &lines, "198.51.100.1");
    let lines = [
        ("forwarded", "for=8.8.8.8, for=198.51.100.1"),
        ("forwarded", r#"for=10.9.9.9, for="[fd00::1]""#),
    ];
    assert_client("10.1.2.3", &lines, "198.51.100.1");
}

#[test]
fn if_all_hops_are_trusted_the_left_most_is_the_client() {
    let value = "10.9.9.9, 10.8.8.8";
    assert_client("10.1.2.3", &[("x-forwarded-for", value)], "10.9.9.9");
}

#[test]
fn a_hop_without_an_address_ends_the_search() {
    for hidden in [
        "unknown",
        "_hidden",
        "garbage",
        "1.2.3",
        "[::1",
        "1.2.3.4:x",
    ] {
        let value = format!("198.51.100.1, {hidden}, 10.9.9.9");
        assert_client("10.1.2.3", &[("x-forwarded-for", &value)], "10.9.9.9");
        let value = format!("198.51.100.1, {hidden}");
        assert_client("10.1.2.3", &[("x-forwarded-for", &value)], "10.1.2.3");
        let value = format!("for=198.51.100.1, for=\"{hidden}\", for=10.9.9.9");
        assert_client("10.1.2.3", &[("forwarded", &value)], "10.9.9.9");
    }
    let open_quote = [("forwarded", r#"for="198.51.100.1, for=198.51.100.2"#)];
    assert_client("10.1.2.3", &open_quote, "10.1.2.3");
    let not_text = [("x-forwarded-for", "198.51.100.1, ä")];
    assert_client("10.1.2.3", &not_text, "10.1.2.3");
}

#[test]
fn an_unclosed_quote_does_not_hide_the_next_line() {
    let lines = [("forwarded", r#"for=""#), ("forwarded", "for=198.51.100.1")];
    assert_client("10.1.2.3", &lines, "198.51.100.1");
}

#[test]
fn two_headers_are_used_only_if_they_agree() {
    let both = |forwarded, x_forwarded_for| {
        [
            ("forwarded", forwarded),
            ("x-forwarded-for", x_forwarded_for),
        ]
    };
    let agreeing = both("for=198.51.100.1", "8.8.8.8, 198.51.100.1");
    assert_client("10.1.2.3", &agreeing, "198.51.100.1");
    for (forwarded, x_forwarded_for) in [
        ("for=198.51.100.2", "198.51.100.1"),
        ("for=unknown", "198.51.100.1"),
        ("for=198.51.100.2", ""),
    ] {
        assert_client("10.1.2.3", &both(forwarded, x_forwarded_for), "10.1.2.3");
    }
}

fn address() -> impl Strategy<Value = IpAddr> {
    prop_oneof![
        any::<u32>().prop_map(|bits| IpAddr::V4(Ipv4Addr::from_bits(bits))),
        any::<u128>().prop_map(|bits| IpAddr::V6(Ipv6Addr::from_bits(bits)).to_canonical()),
    ]
}

fn line() -> impl Strategy<Value = String> {
    let pieces = prop_oneof![
        Just("for=".to_owned()),
        Just("\"".to_owned()),
        Just("\\".to_owned()),
        Just("[".to_owned()),
        Just("]:".to_owned()),
        Just(",".to_owned()),
        Just(";".to_owned()),
        "[ -~\u{e4}]{0,6}",
        address().prop_map(|address| address.to_string()),
    ];
    prop::collection::vec(pieces, 0..12).prop_map(|pieces| pieces.concat())
}

proptest! {
    /// Whatever is to the left of it, the hop that our proxy has added is the client.
    #[test]
    fn a_forged_line_does_not_replace_the_address_of_the_proxy(forged in line(), client in address()) {
        prop_assume!(!proxies().trusts(client));
        let value = format!("{forged},{client}");
        let headers = headers(&[("x-forwarded-for", &value)]);
        let peer = Ipv4Addr::new(10, 1, 2, 3).into();
        prop_assert_eq!(proxies().client_address(peer, &headers), client);
    }

    /// Invalid lines result in an address: that of the peer, or one from the lines.
    #[test]
    fn invalid_lines_do_not_panic(lines in prop::collection::vec((any::<bool>(), line()), 0..5)) {
        let names = |is_new| if is_new { "forwarded" } else { "x-forwarded-for" };
        let given: Vec<_> = lines.iter().map(|(is_new, line)| (names(*is_new), &**line)).collect();
        let peer: IpAddr = Ipv4Addr::new(10, 1, 2, 3).into();
        let client = proxies().client_address(peer, &headers(&given));
        let written = lines.iter().flat_map(|(is_new, line)| {
            if *is_new { forwarded::forwarded_hops(line) } else { x_forwarded_for_hops(line) }
        });
        prop_assert!(client == peer || written.flatten().any(|hop| hop == client));
    }

    /// A node is what Rust reads, with or without brackets and a port.
    #[test]
    fn addresses_are_parsed_in_every_form(address in address(), port in any::<u16>()) {
        prop_assert_eq!(parse_address(&address.to_string()), Some(address));
        let socket = SocketAddr::new(address, port).to_string();
        prop_assert_eq!(parse_address(&socket), Some(address));
    }
}
