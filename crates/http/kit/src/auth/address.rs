//! The address of a request's client, also behind proxies.

use std::net::{IpAddr, SocketAddr};

use actix_web::http::header::{self, HeaderMap, HeaderName};
use ipnet::IpNet;

use super::forwarded;

const X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");

/// The networks of proxies whose forwarding headers are trusted.
#[derive(Debug, Clone, Default)]
pub struct TrustedProxies(Vec<IpNet>);

impl TrustedProxies {
    /// Trusts the proxies in these networks.
    pub fn new(networks: Vec<IpNet>) -> Self {
        Self(networks)
    }

    /// Returns the address of the client behind the connection that `peer` opened: the peer's own,
    /// or, if that is a trusted proxy, the right-most untrusted address in `Forwarded` or
    /// `X-Forwarded-For`. Everything to the left of it can be forged.
    pub fn client_address(&self, peer: IpAddr, headers: &HeaderMap) -> IpAddr {
        let peer = peer.to_canonical();
        if !self.trusts(peer) {
            return peer;
        }
        let forwarded =
            self.client_from_header(peer, headers, header::FORWARDED, forwarded::forwarded_hops);
        let x_forwarded_for =
            self.client_from_header(peer, headers, X_FORWARDED_FOR, x_forwarded_for_hops);
        match (forwarded, x_forwarded_for) {
            (Some(client), None) | (None, Some(client)) => client,
            (Some(one), Some(other)) if one == other => one,
            // A proxy writes one of the two headers and forwards the other unchanged, so one of
            // them is the client's forgery, and it is unknown which.
            (Some(_), Some(_)) | (None, None) => peer,
        }
    }

    fn trusts(&self, address: IpAddr) -> bool {
        self.0.iter().any(|network| network.contains(&address))
    }

    /// Goes through the hops from the peer towards the client, as far as they can be trusted.
    /// `None` without this header.
    fn client_from_header(
        &self,
        peer: IpAddr,
        headers: &HeaderMap,
        name: HeaderName,
        hops: impl Fn(&str) -> Vec<Option<IpAddr>>,
    ) -> Option<IpAddr> {
        let mut lines: Vec<_> = headers.get_all(name).collect();
        if lines.is_empty() {
            return None;
        }
        lines.reverse();
        let mut last = peer;
        for line in lines {
            // Each line is parsed by itself, so that an unclosed quote ends with it.
            let line = String::from_utf8_lossy(line.as_bytes());
            for hop in hops(&line).into_iter().rev() {
                match hop {
                    // A hop without an address: everything to the left of it is untrusted.
                    None => return Some(last),
                    Some(address) => last = address,
                }
                if !self.trusts(last) {
                    return Some(last);
                }
            }
        }
        Some(last)
    }
}

/// Returns the hops of one line of `X-Forwarded-For`, `None` for each that is no address.
fn x_forwarded_for_hops(line: &str) -> Vec<Option<IpAddr>> {
    let hops = line.split(',').map(|hop| hop.trim_matches([' ', '\t']));
    hops.filter(|hop| !hop.is_empty())
        .map(parse_address)
        .collect()
}

/// Parses an address as proxies write it: `192.0.2.1`, `192.0.2.1:4711`, `2001:db8::1`,
/// `[2001:db8::1]` or `[2001:db8::1]:4711`. A port may also be obfuscated, as in `192.0.2.1:_web`.
pub(super) fn parse_address(text: &str) -> Option<IpAddr> {
    if let Ok(address) = text.parse::<IpAddr>() {
        return Some(address.to_canonical());
    }
    if let Ok(socket) = text.parse::<SocketAddr>() {
        return Some(socket.ip().to_canonical());
    }
    let (address, port) = match text.strip_prefix('[') {
        Some(rest) => rest.split_once(']')?,
        None => text.split_at(text.find(':')?),
    };
    let is_port = port.is_empty() || port.starts_with(":_");
    let address: IpAddr = address.parse().ok()?;
    (is_port && address.is_ipv6() == text.starts_with('[')).then(|| address.to_canonical())
}

#[cfg(test)]
mod tests;
