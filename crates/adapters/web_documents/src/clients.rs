//! The HTTP clients.

use std::time::Duration;

use reqwest::Client;

use crate::{permission::ReachableAddresses, resolver::PublicResolver};

/// One client for each [`ReachableAddresses`].
pub(crate) struct Clients {
    anywhere: Client,
    public_only: Client,
}

impl Clients {
    /// Builds the clients. Reads the system's root certificates, which takes some milliseconds.
    /// Fails if there are none.
    pub(crate) fn build(connect: Duration) -> Result<Self, reqwest::Error> {
        // Each document is fetched only every few minutes. A proxy, of which there is none, would
        // resolve names itself, without the check.
        let builder = || http_clients::builder(connect).pool_max_idle_per_host(0);
        let public_only = builder().dns_resolver(PublicResolver).https_only(true);
        Ok(Self {
            anywhere: builder().build()?,
            public_only: public_only.build()?,
        })
    }

    /// Returns the client for this reach.
    pub(crate) fn for_addresses(&self, reach: ReachableAddresses) -> &Client {
        match reach {
            ReachableAddresses::All => &self.anywhere,
            ReachableAddresses::PublicOnly => &self.public_only,
        }
    }
}
