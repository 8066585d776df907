//! Settings and look-ups of host names that all HTTP clients of the service share.

mod name_lookups;

use std::time::Duration;

use name_lookups::SystemResolver;
use reqwest::{
    Client, ClientBuilder,
    header::{ACCEPT_ENCODING, HeaderMap, HeaderValue},
    redirect,
};

pub use name_lookups::{look_up, look_up_for_tenant};

/// Returns the builder of a client, which calls the servers that it is configured for and no others: it
/// follows no redirects and uses no proxy of the environment. Names are looked up by [`look_up`].
///
/// It asks for responses without compression, which would hold streams back. Responses that are
/// compressed all the same, as by some proxies, are read.
pub fn builder(connect_timeout: Duration) -> ClientBuilder {
    let uncompressed = (ACCEPT_ENCODING, HeaderValue::from_static("identity"));
    Client::builder()
        .user_agent("agent-service")
        .default_headers(HeaderMap::from_iter([uncompressed]))
        .redirect(redirect::Policy::none())
        .no_proxy()
        .connect_timeout(connect_timeout)
        .dns_resolver(SystemResolver)
}

#[cfg(test)]
mod tests;
