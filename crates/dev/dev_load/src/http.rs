//! Ordinary HTTP requests, through reqwest.

use std::{fmt, mem, sync::LazyLock, time::Duration};

use anyhow::{Context as _, Result, bail};
use reqwest::{ClientBuilder, redirect::Policy};
use serde_json::Value;
use tokio::{runtime::Runtime, time};

use crate::{Endpoint, runtime};

pub use reqwest::{Method, RequestBuilder, header::HeaderMap};

/// Opens a connection for each request, so that every failure belongs to one request.
static ONE_REQUEST_A_CONNECTION: LazyLock<reqwest::Client> =
    LazyLock::new(|| client(|builder| builder.pool_max_idle_per_host(0)));

/// The time that an idle connection is kept: less than the service keeps it.
const IDLE: Duration = Duration::from_secs(1);

/// The longest that a server may take to report its metrics.
const METRICS_TIMEOUT: Duration = Duration::from_secs(5);

/// The failure of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum RequestError {
    /// No server accepts connections.
    ConnectionRefused,
    /// The connection ended before the head of a response was complete.
    NoResponse,
    /// The connection ended within the body.
    Truncated,
    /// The response took longer than the client waits.
    TimedOut,
    /// The request or the response is not valid.
    Malformed,
}

impl fmt::Display for RequestError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::ConnectionRefused => "connection refused",
            Self::NoResponse => "no response",
            Self::Truncated => "truncated",
            Self::TimedOut => "timed out",
            Self::Malformed => "malformed",
        })
    }
}

impl std::error::Error for RequestError {}

/// A complete response.
#[derive(Debug, Default)]
pub struct Response {
    /// The status code.
    pub status: u16,
    /// The headers.
    pub headers: HeaderMap,
    /// The body.
    pub body: Vec<u8>,
}

impl Response {
    /// The value of a header, if it is text.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// The body as JSON; null if it is not JSON.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }
}

/// A response whose head has arrived. Dropping it closes the connection.
pub struct ResponseStream {
    /// The status code.
    pub status: u16,
    response: reqwest::Response,
}

impl ResponseStream {
    /// Sends a request and waits for the head of the response.
    pub async fn open(request: RequestBuilder) -> Result<Self, RequestError> {
        let response = request.send().await.map_err(|error| {
            if error.is_connect() {
                RequestError::ConnectionRefused
            } else if error.is_builder() {
                RequestError::Malformed
            } else {
                RequestError::NoResponse
            }
        })?;
        Ok(Self {
            status: response.status().as_u16(),
            response,
        })
    }

    /// Returns the next part of the body as it arrives, or `None` at its end.
    pub async fn chunk(&mut self) -> Result<Option<Vec<u8>>, RequestError> {
        let chunk = self.response.chunk().await;
        let chunk = chunk.map_err(|_closed| RequestError::Truncated)?;
        Ok(chunk.map(Into::into))
    }

    /// Waits for the rest of the body.
    pub async fn collect(mut self) -> Result<Response, RequestError> {
        let headers = mem::take(self.response.headers_mut());
        let body = self.response.bytes().await;
        Ok(Response {
            status: self.status,
            headers,
            body: body.map_err(|_closed| RequestError::Truncated)?.into(),
        })
    }
}

/// Sends a request and waits for the complete response.
pub async fn send(request: RequestBuilder, timeout: Duration) -> Result<Response, RequestError> {
    within(timeout, async {
        ResponseStream::open(request).await?.collect().await
    })
    .await
}

/// Ends work that takes too long.
pub async fn within<T>(
    timeout: Duration,
    work: impl Future<Output = Result<T, RequestError>>,
) -> Result<T, RequestError> {
    let result = time::timeout(timeout, work).await;
    result.unwrap_or(Err(RequestError::TimedOut))
}

impl Endpoint {
    /// Returns a request on a connection of its own with the endpoint's credential, for [`send`] and [`ResponseStream::open`].
    pub fn http(&self, method: Method, path: &str) -> RequestBuilder {
        self.build(&ONE_REQUEST_A_CONNECTION, method, path)
    }

    /// Returns the value of a metric with the labels in its name, from `GET /metrics`; `None` if it is
    /// absent.
    pub async fn metric(&self, name: &str) -> Result<Option<f64>> {
        let request = self.http(Method::GET, "/metrics");
        let response = send(request, METRICS_TIMEOUT).await?;
        if response.status != 200 {
            bail!("GET /metrics returned {}", response.status);
        }
        let text = String::from_utf8(response.body).context("metrics without UTF-8")?;
        let value = text
            .lines()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        let number = value.map(|value| value.trim().parse());
        number.transpose().context("a metric that is no number")
    }

    fn build(&self, client: &reqwest::Client, method: Method, path: &str) -> RequestBuilder {
        let (name, value) = self.credential.header();
        let url = format!("http://{}{path}", self.address);
        client.request(method, url).header(name, value)
    }
}

/// Calls the API of a server over connections that are kept, and accepts only success.
pub struct ApiClient {
    endpoint: Endpoint,
    client: reqwest::Client,
}

impl ApiClient {
    /// Returns a client of this server.
    pub fn new(endpoint: &Endpoint) -> Self {
        Self {
            endpoint: endpoint.clone(),
            client: client(|builder| builder.pool_idle_timeout(IDLE)),
        }
    }

    /// Returns a request over a kept connection, for [`send`] and [`ResponseStream::open`].
    pub fn http(&self, method: Method, path: &str) -> RequestBuilder {
        self.endpoint.build(&self.client, method, path)
    }

    /// Sends a request and returns the body; null if the response has no body.
    pub async fn call(&self, method: Method, path: &str, body: Option<&Value>) -> Result<Value> {
        let context = || format!("{method} {path}");
        let mut request = self.http(method.clone(), path);
        if let Some(body) = body {
            request = request.json(body);
        }
        let response = request.send().await.with_context(context)?;
        let status = response.status();
        let body = response.bytes().await.with_context(context)?;
        if !status.is_success() {
            let body = String::from_utf8_lossy(&body);
            bail!("{method} {path} returned {status}: {body}");
        }
        if body.is_empty() {
            return Ok(Value::Null);
        }
        serde_json::from_slice(&body).with_context(context)
    }
}

/// [`ApiClient`] for code that is not asynchronous.
pub struct BlockingApiClient {
    client: ApiClient,
    runtime: Runtime,
}

impl BlockingApiClient {
    /// Returns a client of this server.
    pub fn new(endpoint: &Endpoint) -> Result<Self> {
        Ok(Self {
            client: ApiClient::new(endpoint),
            runtime: runtime()?,
        })
    }

    /// Sends a request and returns the body; null if the response has no body.
    pub fn call(&self, method: Method, path: &str, body: Option<&Value>) -> Result<Value> {
        self.runtime.block_on(self.client.call(method, path, body))
    }
}

/// Never uses the proxy that the environment names: everything is on loopback.
fn client(configure: impl FnOnce(ClientBuilder) -> ClientBuilder) -> reqwest::Client {
    let builder = configure(
        reqwest::Client::builder()
            .no_proxy()
            .redirect(Policy::none()),
    );
    // Only TLS and proxy settings can be invalid, and there are none.
    builder.build().expect("a client without TLS and proxy")
}
