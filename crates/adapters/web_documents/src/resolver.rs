//! Resolution of host names to public addresses only.

use std::net::SocketAddr;

use ports::BoxError;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use crate::public::is_public;

/// The name resolves to an address that is not public.
#[derive(Debug, thiserror::Error)]
#[error("the host name resolves to an address that is not public")]
pub(crate) struct NotPublic;

/// Resolves names by the system, and rejects a name with any address that is not public. The client
/// connects to the returned addresses without resolving the name again.
pub(crate) struct PublicResolver;

impl Resolve for PublicResolver {
    fn resolve(&self, name: Name) -> Resolving {
        Box::pin(async move {
            // The client replaces port zero by the port of the URL.
            let addresses = http_clients::look_up_for_tenant(name.as_str()).await?;
            let addresses = all_public(addresses)?;
            Ok(Box::new(addresses.into_iter()) as Addrs)
        })
    }
}

/// Rejects all addresses if one is not public: no legitimate name has both kinds.
fn all_public(addresses: Vec<SocketAddr>) -> Result<Vec<SocketAddr>, BoxError> {
    if addresses.iter().all(|address| is_public(address.ip())) {
        Ok(addresses)
    } else {
        Err(NotPublic.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse_all(texts: &[&str]) -> Vec<SocketAddr> {
        texts.iter().map(|text| text.parse().unwrap()).collect()
    }

    #[test]
    fn public_addresses_are_returned() {
        let public = parse_all(&["8.8.8.8:0", "[2606:4700:4700::1111]:0"]);
        assert_eq!(all_public(public.clone()).unwrap(), public);
    }

    #[test]
    fn one_address_that_is_not_public_rejects_the_name() {
        for other in ["10.0.0.1:0", "[::1]:0", "[::ffff:127.0.0.1]:0"] {
            for mixed in [["8.8.8.8:0", other], [other, "8.8.8.8:0"]] {
                let error = all_public(parse_all(&mixed)).unwrap_err();
                assert!(error.is::<NotPublic>(), "{mixed:?}");
            }
        }
    }

    #[tokio::test]
    async fn a_name_of_this_machine_is_rejected() {
        let resolved = PublicResolver.resolve("localhost".parse().unwrap()).await;
        assert!(resolved.err().unwrap().is::<NotPublic>());
    }
}
