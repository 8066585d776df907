//! The two clients.

use std::time::Duration;

use reqwest::{Client, ClientBuilder, redirect};

use crate::{permission::Reach, resolver::PublicResolver};

/// One client for each reach.
pub(crate) struct Clients {
    anywhere: Client,
    public_only: Client,
}

impl Clients {
    /// Reads the certificates of the system's authorities: some milliseconds, and an error where
    /// there are none.
    pub(crate) fn build(connect: Duration) -> Result<Self, reqwest::Error> {
        let public_only = plain(connect).dns_resolver(PublicResolver).https_only(true);
        Ok(Self {
            anywhere: plain(connect).build()?,
            public_only: public_only.build()?,
        })
    }

    /// The client that reaches so far.
    pub(crate) fn reaching(&self, reach: Reach) -> &Client {
        match reach {
            Reach::Anywhere => &self.anywhere,
            Reach::PublicOnly => &self.public_only,
        }
    }
}

fn plain(connect: Duration) -> ClientBuilder {
    Client::builder()
        .user_agent("agent-service")
        .redirect(redirect::Policy::none())
        // A proxy would look names up itself.
        .no_proxy()
        .connect_timeout(connect)
        // Each document is asked for once in minutes.
        .pool_max_idle_per_host(0)
}
