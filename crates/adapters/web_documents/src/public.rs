//! Classification of addresses of the public internet.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Special-purpose networks without public servers, from IANA's registry: the network and the
/// length of its prefix.
const SPECIAL_V4: &[(Ipv4Addr, u32)] = &[
    (Ipv4Addr::UNSPECIFIED, 8),           // this network
    (Ipv4Addr::new(10, 0, 0, 0), 8),      // private
    (Ipv4Addr::new(100, 64, 0, 0), 10),   // shared by the customers of a provider
    (Ipv4Addr::new(127, 0, 0, 0), 8),     // loopback
    (Ipv4Addr::new(169, 254, 0, 0), 16),  // link-local; metadata of cloud machines
    (Ipv4Addr::new(172, 16, 0, 0), 12),   // private
    (Ipv4Addr::new(192, 0, 0, 0), 24),    // protocol assignments
    (Ipv4Addr::new(192, 0, 2, 0), 24),    // documentation
    (Ipv4Addr::new(192, 88, 99, 0), 24),  // relays to IPv6, withdrawn
    (Ipv4Addr::new(192, 168, 0, 0), 16),  // private
    (Ipv4Addr::new(198, 18, 0, 0), 15),   // benchmarks
    (Ipv4Addr::new(198, 51, 100, 0), 24), // documentation
    (Ipv4Addr::new(203, 0, 113, 0), 24),  // documentation
    (Ipv4Addr::new(224, 0, 0, 0), 4),     // multicast
    (Ipv4Addr::new(240, 0, 0, 0), 4),     // reserved, and broadcast
];

/// The network of all public IPv6 addresses; all others are special.
const GLOBAL_V6: (Ipv6Addr, u32) = (Ipv6Addr::new(0x2000, 0, 0, 0, 0, 0, 0, 0), 3);

/// Special networks within [`GLOBAL_V6`].
const SPECIAL_V6: &[(Ipv6Addr, u32)] = &[
    (Ipv6Addr::new(0x2001, 0, 0, 0, 0, 0, 0, 0), 23), // protocol assignments, tunnels
    (Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0), 32), // documentation
    (Ipv6Addr::new(0x2002, 0, 0, 0, 0, 0, 0, 0), 16), // tunnels to any IPv4 address
    (Ipv6Addr::new(0x3fff, 0, 0, 0, 0, 0, 0, 0), 20), // documentation
];

/// Networks whose last 32 bits are the IPv4 address of the final destination.
const EMBEDDED_V4: &[(Ipv6Addr, u32)] = &[
    (Ipv6Addr::new(0, 0, 0, 0, 0, 0xffff, 0, 0), 96),
    (Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, 0, 0), 96),
];

/// Returns whether an address belongs to the public internet.
pub(crate) fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    !SPECIAL_V4
        .iter()
        .any(|(network, prefix)| (address.to_bits() ^ network.to_bits()) >> (32 - prefix) == 0)
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    let is_within = |(network, prefix): &(Ipv6Addr, u32)| {
        (address.to_bits() ^ network.to_bits()) >> (128 - prefix) == 0
    };
    if EMBEDDED_V4.iter().any(is_within) {
        let [.., a, b, c, d] = address.octets();
        return is_public_v4(Ipv4Addr::new(a, b, c, d));
    }
    is_within(&GLOBAL_V6) && !SPECIAL_V6.iter().any(is_within)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("0.0.0.0")]
    #[case("0.255.255.255")]
    #[case("10.0.0.1")]
    #[case("10.255.255.255")]
    #[case("100.64.0.1")]
    #[case("100.127.255.255")]
    #[case("127.0.0.1")]
    #[case("127.255.255.254")]
    #[case("169.254.169.254")]
    #[case("172.16.0.1")]
    #[case("172.31.255.255")]
    #[case("192.0.0.170")]
    #[case("192.0.2.1")]
    #[case("192.88.99.1")]
    #[case("192.168.0.1")]
    #[case("198.18.0.1")]
    #[case("198.19.255.255")]
    #[case("198.51.100.7")]
    #[case("203.0.113.7")]
    #[case("224.0.0.1")]
    #[case("239.255.255.255")]
    #[case("240.0.0.1")]
    #[case("255.255.255.255")]
    #[case("::")]
    #[case("::1")]
    #[case("::7f00:1")]
    #[case("::ffff:0.0.0.0")]
    #[case("::ffff:127.0.0.1")]
    #[case("::ffff:10.0.0.1")]
    #[case("::ffff:169.254.169.254")]
    #[case("64:ff9b::127.0.0.1")]
    #[case("64:ff9b::192.168.0.1")]
    #[case("64:ff9b:1::8.8.8.8")]
    #[case("100::1")]
    #[case("2001::1")]
    #[case("2001:1ff:ffff::1")]
    #[case("2001:db8::1")]
    #[case("2002:7f00:1::1")]
    #[case("3fff::1")]
    #[case("3fff:fff::1")]
    #[case("4000::1")]
    #[case("fc00::1")]
    #[case("fd12:3456:789a::1")]
    #[case("fe80::1")]
    #[case("febf::1")]
    #[case("fec0::1")]
    #[case("ff02::1")]
    fn special_addresses_are_not_public(#[case] address: IpAddr) {
        assert!(!is_public(address));
    }

    #[rstest]
    #[case("1.1.1.1")]
    #[case("9.255.255.255")]
    #[case("11.0.0.0")]
    #[case("100.63.255.255")]
    #[case("100.128.0.0")]
    #[case("126.255.255.255")]
    #[case("128.0.0.0")]
    #[case("169.253.255.255")]
    #[case("169.255.0.0")]
    #[case("172.15.255.255")]
    #[case("172.32.0.0")]
    #[case("192.167.255.255")]
    #[case("192.169.0.0")]
    #[case("198.17.255.255")]
    #[case("198.20.0.0")]
    #[case("223.255.255.255")]
    #[case("::ffff:8.8.8.8")]
    #[case("64:ff9b::8.8.8.8")]
    #[case("2001:200::1")]
    #[case("2001:4860:4860::8888")]
    #[case("2003::1")]
    #[case("2606:4700:4700::1111")]
    #[case("3ffe::1")]
    fn all_other_addresses_are_public(#[case] address: IpAddr) {
        assert!(is_public(address));
    }
}
