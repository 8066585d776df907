//! The requests to one server.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use domain::{AgentConfig, FileKinds};
use reqwest::{
    Method, Proxy, Request, Response, Url,
    header::{self, HeaderMap, HeaderName, HeaderValue},
};
use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;
use tokio::time::timeout;
use tokio_util::task::TaskTracker;

use crate::{
    address::{append_path, base_url, is_azure_deployment, proxy_url},
    api::LlmApi,
    dialect::Dialects,
    error::LlmError,
    extra_body::ExtraBody,
    options::{LlmOptions, LlmOptionsError, LlmTimeouts},
    retry_policy::retry_after,
    runtime_clients::{ClientSettings, RuntimeClients},
    upstream_error::UpstreamError,
};

/// The number of bytes of an error response that are read, and the time that this may take.
const MAX_ERROR_BODY_BYTES: usize = 64 * 1024;
const ERROR_BODY_TIMEOUT: Duration = Duration::from_secs(2);
/// The timeout for the head and the first byte of a response that is not streamed. It exceeds the
/// timeout of every agent, which ends the wait earlier.
const UNSTREAMED_FIRST_BYTE_TIMEOUT: Duration = Duration::from_hours(24);

/// One server and its HTTP clients.
pub(crate) struct Upstream {
    /// The name of the engine, for logs.
    pub(crate) engine: String,
    pub(crate) api: LlmApi,
    clients: RuntimeClients,
    requests_url: Url,
    models_url: Url,
    key: Option<SecretString>,
    pub(crate) dialects: Dialects,
    pub(crate) model: Option<String>,
    pub(crate) streams: bool,
    pub(crate) think_tags: Option<bool>,
    pub(crate) inputs: Option<FileKinds>,
    pub(crate) extra_body: ExtraBody,
    pub(crate) timeouts: LlmTimeouts,
    /// Tracks the tasks of responses.
    pub(crate) tasks: TaskTracker,
    is_unreachable: AtomicBool,
}

impl Upstream {
    /// Builds the clients. Reads the system's root certificates if HTTPS is used, which takes some
    /// milliseconds.
    pub(crate) fn new(options: &LlmOptions) -> Result<Self, LlmOptionsError> {
        let base = base_url(&options.base_url, options.api.path())?;
        let proxy = options.proxy.as_ref().map(ExposeSecret::expose_secret);
        let proxy = proxy.map(proxy_url).transpose()?;
        let is_encrypted = |address: &Url| address.scheme() == "https";
        let needs_certificates = is_encrypted(&base) || proxy.as_ref().is_some_and(is_encrypted);
        let is_set = |key: &&SecretString| !key.expose_secret().is_empty();
        let key = options.api_key.as_ref().filter(is_set);
        let proxy = proxy.map(Proxy::all).transpose();
        // Only servers with OpenAI's interface differ in what they know and in where thoughts are.
        let fixed = (options.api != LlmApi::OpenAi).then_some(false);
        let clients = RuntimeClients::new(ClientSettings {
            headers: headers(options.api, key, &base)?,
            connect_timeout: options.timeouts.connect,
            proxy: proxy.map_err(|_error| LlmOptionsError::Proxy)?,
            needs_certificates,
            max_idle_connections: (options.max_idle_connections / options.runtimes.max(1)).max(1),
        });
        Ok(Self {
            engine: options.engine.clone(),
            api: options.api,
            clients: clients.map_err(LlmOptionsError::Client)?,
            requests_url: append_path(&base, options.api.path()),
            models_url: append_path(&base, &["models"]),
            key: key.cloned(),
            dialects: Dialects::new(
                fixed.or(options.stream_options),
                fixed.or(options.max_completion_tokens),
            ),
            model: options.model.clone(),
            streams: options.streams,
            think_tags: fixed.or(options.think_tags),
            inputs: options.inputs,
            extra_body: ExtraBody::new(options.api, options.extra_body.clone())?,
            timeouts: timeouts(options),
            tasks: options.tasks.clone(),
            is_unreachable: AtomicBool::new(false),
        })
    }

    /// The API key, which must not appear in logs or errors.
    pub(crate) fn key(&self) -> Option<&str> {
        self.key.as_ref().map(ExposeSecret::expose_secret)
    }

    /// The path of requests, without the parts of the URL that may be secret.
    pub(crate) fn path(&self) -> &str {
        self.requests_url.path()
    }

    /// Returns the model of an agent with this configuration; `None` leaves the choice to the server.
    pub(crate) fn model_of(&self, config: &AgentConfig) -> Option<String> {
        let own = config.llm.as_ref().and_then(|llm| llm.model.clone());
        own.or_else(|| self.model.clone())
    }

    /// Returns a request for a reply.
    pub(crate) fn reply_request(&self, body: Vec<u8>) -> Request {
        let mut request = Request::new(Method::POST, self.requests_url.clone());
        let headers = request.headers_mut();
        let json = HeaderValue::from_static("application/json");
        headers.insert(header::CONTENT_TYPE, json);
        let accepted = if self.streams {
            "text/event-stream, application/json"
        } else {
            "application/json"
        };
        headers.insert(header::ACCEPT, HeaderValue::from_static(accepted));
        *request.body_mut() = Some(body.into());
        request
    }

    /// Sends a request and waits for the head of a successful response.
    pub(crate) async fn send(&self, request: Request) -> Result<Response, LlmError> {
        let sent = timeout(self.timeouts.first_byte, self.execute(request));
        let response = sent.await.map_err(|_elapsed| LlmError::TimedOut)??;
        if response.status().is_success() {
            Ok(response)
        } else {
            Err(self.read_error_response(response).await.into())
        }
    }

    async fn execute(&self, request: Request) -> Result<Response, LlmError> {
        let client = self.clients.current().map_err(LlmError::unreachable)?;
        let response = client.execute(request).await;
        let is_refused = response.as_ref().is_err_and(reqwest::Error::is_connect);
        self.is_unreachable.store(is_refused, Ordering::Relaxed);
        response.map_err(LlmError::unreachable)
    }

    /// Returns false if no connection could be opened for the last request.
    pub(crate) fn is_reachable(&self) -> bool {
        !self.is_unreachable.load(Ordering::Relaxed)
    }

    /// Requests the list of models, or its part after the model `after`.
    pub(crate) async fn list_models(&self, after: Option<&str>) -> Result<Response, LlmError> {
        let mut url = self.models_url.clone();
        if let Some(size) = self.api.page_size() {
            url.query_pairs_mut()
                .append_pair("limit", &size.to_string());
        }
        if let Some(after) = after {
            url.query_pairs_mut().append_pair("after_id", after);
        }
        let request = Request::new(Method::GET, url);
        let response = self.execute(request).await?;
        if response.status().is_success() {
            Ok(response)
        } else {
            Err(UpstreamError::read(Some(response.status()), &Value::Null, None).into())
        }
    }

    async fn read_error_response(&self, mut response: Response) -> UpstreamError {
        let retry_after = retry_after(response.headers());
        let status = response.status();
        let mut body = Vec::new();
        let reading = async {
            while let Ok(Some(part)) = response.chunk().await {
                body.extend_from_slice(&part);
                if body.len() > MAX_ERROR_BODY_BYTES {
                    break;
                }
            }
        };
        // Everything but the status is only for logs, so a failure to read it is ignored.
        let _ = timeout(ERROR_BODY_TIMEOUT, reading).await;
        let text = || Value::from(String::from_utf8_lossy(&body));
        let mut body: Value = serde_json::from_slice(&body).unwrap_or_else(|_error| text());
        if let Some(first) = body.get_mut(0) {
            body = first.take();
        }
        let error = body.get("error").filter(|error| !error.is_null());
        let error = error.unwrap_or(&body);
        UpstreamError {
            retry_after,
            ..UpstreamError::read(Some(status), error, self.key())
        }
    }
}

fn timeouts(options: &LlmOptions) -> LlmTimeouts {
    let mut timeouts = options.timeouts;
    if !options.streams {
        timeouts.first_byte = UNSTREAMED_FIRST_BYTE_TIMEOUT;
    }
    timeouts
}

fn headers(
    api: LlmApi,
    key: Option<&SecretString>,
    base: &Url,
) -> Result<HeaderMap, LlmOptionsError> {
    let mut headers = HeaderMap::new();
    if let Some((name, version)) = api.version() {
        headers.insert(name, HeaderValue::from_static(version));
    }
    if let Some(key) = key {
        let key = key.expose_secret();
        let (name, value) = if is_azure_deployment(base) {
            (HeaderName::from_static("api-key"), key.to_owned())
        } else {
            (header::AUTHORIZATION, format!("Bearer {key}"))
        };
        let value = HeaderValue::try_from(value).map_err(|_invalid| LlmOptionsError::ApiKey)?;
        headers.entry(name).or_insert(value).set_sensitive(true);
    }
    Ok(headers)
}
