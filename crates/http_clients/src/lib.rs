//! Settings, look-ups of host names and the decoder of server-sent events that all HTTP clients of the
//! service share.

mod event_decoder;
mod name_lookups;

use std::time::Duration;

use name_lookups::SystemResolver;
use reqwest::{
    Client, ClientBuilder, Response,
    header::{ACCEPT_ENCODING, CONTENT_TYPE, HeaderMap, HeaderValue},
    redirect,
};

pub use event_decoder::{EventDecoder, EventTooLarge};
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

/// Returns whether a response is labelled with a media type, whatever its case and its parameters.
pub fn has_media_type(response: &Response, media_type: &str) -> bool {
    let label = response.headers().get(CONTENT_TYPE);
    let essence = label.and_then(|label| label.to_str().ok()?.split(';').next());
    essence.is_some_and(|essence| essence.trim().eq_ignore_ascii_case(media_type))
}

#[cfg(test)]
mod tests;
