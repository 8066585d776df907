//! The transport of servers with streamable HTTP.

use std::{sync::Arc, time::Duration};

use reqwest::Client;
use rmcp::transport::{
    StreamableHttpClientTransport, common::client_side_sse::FixedInterval,
    streamable_http_client::StreamableHttpClientTransportConfig,
};
use tokio::task::spawn_blocking;

use crate::{MAX_MESSAGE_BYTES, connection_error::ConnectionError, web::WebClient};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// The maximum number of times that a broken stream is reopened before its request fails. After
/// that, `ConnectionManager` reconnects.
const MAX_STREAM_RETRIES: usize = 2;

/// The HTTP client of one server.
#[derive(Clone)]
pub(crate) struct HttpTransport {
    client: Client,
    url: Arc<str>,
}

impl HttpTransport {
    /// Builds the client. Reads the system's root certificates, which takes some milliseconds.
    pub(crate) async fn new(url: Arc<str>) -> Result<Self, ConnectionError> {
        let built = spawn_blocking(|| http_clients::builder(CONNECT_TIMEOUT).build()).await;
        let client = built
            .map_err(|error| ConnectionError::from_error(&error))?
            .map_err(|error| ConnectionError::from_error(&error))?;
        Ok(Self { client, url })
    }

    /// Returns the transport of a new session. Sends nothing yet.
    pub(crate) fn transport(&self) -> StreamableHttpClientTransport<WebClient> {
        let mut retries = FixedInterval::default();
        retries.max_times = Some(MAX_STREAM_RETRIES);
        let mut config = StreamableHttpClientTransportConfig::with_uri(Arc::clone(&self.url))
            .max_sse_event_size(MAX_MESSAGE_BYTES)
            // A request that the server refused for its session is repeated in a new one.
            .reinit_on_expired_session(true);
        config.retry_config = Arc::new(retries);
        StreamableHttpClientTransport::with_client(WebClient::new(self.client.clone()), config)
    }
}
