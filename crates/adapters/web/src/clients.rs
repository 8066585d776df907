//! The HTTP clients.

use std::time::Duration;

use name_lookups::SystemResolver;
use reqwest::{Client, ClientBuilder, redirect};

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
        let public_only = builder(connect)
            .dns_resolver(PublicResolver)
            .https_only(true);
        Ok(Self {
            anywhere: builder(connect).dns_resolver(SystemResolver).build()?,
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

fn builder(connect: Duration) -> ClientBuilder {
    Client::builder()
        .user_agent("agent-service")
        .redirect(redirect::Policy::none())
        // A proxy would resolve names itself, without the check.
        .no_proxy()
        .connect_timeout(connect)
        // Each document is fetched only every few minutes.
        .pool_max_idle_per_host(0)
}
