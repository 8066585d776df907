//! Names that stand for public addresses alone.

use std::net::SocketAddr;

use ports::BoxError;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use crate::public::is_public;

/// The name stands for an address that is not public.
#[derive(Debug, thiserror::Error)]
#[error("the name stands for an address that is not public")]
pub(crate) struct NotPublic;

/// Asks the system, and refuses a name that stands for any address that is not public. A client
/// connects to what it answers, and does not ask again in between.
pub(crate) struct PublicResolver;

impl Resolve for PublicResolver {
    fn resolve(&self, name: Name) -> Resolving {
        Box::pin(async move {
            // The port of the address takes the place of zero.
            let found = tokio::net::lookup_host((name.as_str(), 0)).await?;
            let found = all_public(found.collect())?;
            Ok(Box::new(found.into_iter()) as Addrs)
        })
    }
}

/// One that is not public spoils all: a name has no good reason to stand for both.
fn all_public(found: Vec<SocketAddr>) -> Result<Vec<SocketAddr>, BoxError> {
    if found.iter().all(|address| is_public(address.ip())) {
        Ok(found)
    } else {
        Err(NotPublic.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn addresses(texts: &[&str]) -> Vec<SocketAddr> {
        texts.iter().map(|text| text.parse().unwrap()).collect()
    }

    #[test]
    fn hands_on_what_is_public() {
        let public = addresses(&["8.8.8.8:0", "[2606:4700:4700::1111]:0"]);
        assert_eq!(all_public(public.clone()).unwrap(), public);
    }

    #[test]
    fn one_that_is_not_public_spoils_all() {
        for other in ["10.0.0.1:0", "[::1]:0", "[::ffff:127.0.0.1]:0"] {
            for mixed in [["8.8.8.8:0", other], [other, "8.8.8.8:0"]] {
                let refusal = all_public(addresses(&mixed)).unwrap_err();
                assert!(refusal.is::<NotPublic>(), "{mixed:?}");
            }
        }
    }

    #[tokio::test]
    async fn refuses_a_name_for_this_machine() {
        let resolved = PublicResolver.resolve("localhost".parse().unwrap()).await;
        assert!(resolved.err().unwrap().is::<NotPublic>());
    }
}
