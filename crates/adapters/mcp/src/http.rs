//! Servers that are reached by streamable HTTP.

use std::{sync::Arc, time::Duration};

use reqwest::{Client, redirect};
use rmcp::transport::{
    StreamableHttpClientTransport, common::client_side_sse::FixedInterval,
    streamable_http_client::StreamableHttpClientTransportConfig,
};
use tokio::task::spawn_blocking;

use crate::{LARGEST_MESSAGE, reason::Unreachable, web::WebClient};

const CONNECT_LIMIT: Duration = Duration::from_secs(5);

/// How often a stream that broke off is asked for anew before its request has failed. Later it is
/// the keeper who connects again.
const STREAM_REPEATS: usize = 2;

/// The way to one server.
#[derive(Clone)]
pub(crate) struct HttpWay {
    client: Client,
    url: Arc<str>,
}

impl HttpWay {
    /// Reads the certificates of the system's authorities, which takes some milliseconds.
    pub(crate) async fn new(url: Arc<str>) -> Result<Self, Unreachable> {
        let built = spawn_blocking(build).await;
        let client = built
            .map_err(|error| Unreachable::because(&error))?
            .map_err(|error| Unreachable::because(&error))?;
        Ok(Self { client, url })
    }

    /// A new session with the server; nothing is sent yet.
    pub(crate) fn transport(&self) -> StreamableHttpClientTransport<WebClient> {
        let mut repeats = FixedInterval::default();
        repeats.max_times = Some(STREAM_REPEATS);
        let mut config = StreamableHttpClientTransportConfig::with_uri(Arc::clone(&self.url))
            .max_sse_event_size(LARGEST_MESSAGE)
            // Whoever lost the session is connected to anew, by the keeper.
            .reinit_on_expired_session(false);
        config.retry_config = Arc::new(repeats);
        StreamableHttpClientTransport::with_client(WebClient::new(self.client.clone()), config)
    }
}

fn build() -> Result<Client, reqwest::Error> {
    Client::builder()
        .user_agent("agent-service")
        // The operator named this server, and no other.
        .redirect(redirect::Policy::none())
        .no_proxy()
        .connect_timeout(CONNECT_LIMIT)
        .build()
}
