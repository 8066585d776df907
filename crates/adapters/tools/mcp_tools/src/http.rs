//! The transport of servers with streamable HTTP.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use reqwest::{
    Client,
    header::{HeaderMap, HeaderName, HeaderValue},
};
use rmcp::transport::{
    StreamableHttpClientTransport, common::client_side_sse::FixedInterval,
    streamable_http_client::StreamableHttpClientTransportConfig,
};
use secrecy::{ExposeSecret as _, SecretString};
use tokio::task::spawn_blocking;

use crate::{
    MAX_MESSAGE_BYTES, bearers::Bearers, connection_error::ConnectionError,
    transport::HttpEndpoint, web::WebClient,
};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// The maximum number of times that a broken stream is reopened before its request fails. After
/// that, `ConnectionManager` reconnects.
const MAX_STREAM_RETRIES: usize = 2;

/// The HTTP client of one server.
#[derive(Clone)]
pub(crate) struct HttpTransport {
    client: Client,
    url: Arc<str>,
    bearers: Option<Bearers>,
}

impl HttpTransport {
    /// Builds the client. Reads the system's root certificates, which takes some milliseconds.
    pub(crate) async fn new(
        endpoint: &HttpEndpoint,
        bearers: Bearers,
    ) -> Result<Self, ConnectionError> {
        let headers = headers(&endpoint.headers)?;
        let builder = http_clients::builder(CONNECT_TIMEOUT).default_headers(headers);
        let built = spawn_blocking(|| builder.build()).await;
        let client = built
            .map_err(|error| ConnectionError::from_error(&error))?
            .map_err(|error| ConnectionError::from_error(&error))?;
        Ok(Self {
            client,
            url: endpoint.url.as_str().into(),
            bearers: endpoint.user_tokens.is_some().then_some(bearers),
        })
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
        let client = WebClient::new(self.client.clone(), self.bearers.clone());
        StreamableHttpClientTransport::with_client(client, config)
    }
}

/// Returns the headers of every request. No error contains a value.
fn headers(values: &BTreeMap<String, SecretString>) -> Result<HeaderMap, ConnectionError> {
    let header = |(name, value): (&String, &SecretString)| {
        let name = HeaderName::try_from(name).ok()?;
        let mut value = HeaderValue::try_from(value.expose_secret()).ok()?;
        value.set_sensitive(true);
        Some((name, value))
    };
    let headers: Option<_> = values.iter().map(header).collect();
    headers.ok_or_else(|| ConnectionError::new("a configured header is invalid"))
}
