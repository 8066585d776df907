//! The configuration of one provider.

use std::{fmt, time::Duration};

use domain::{FileKinds, web_address::host};
use secrecy::SecretString;
use tokio::runtime::Handle;
use tokio_util::task::TaskTracker;

use crate::api::LlmApi;

/// The maximum number of idle connections of all runtimes together. They are closed after 90 seconds
/// without a request.
const MAX_IDLE_CONNECTIONS: usize = 1_024;

/// The configuration of one provider.
#[derive(Clone)]
pub struct LlmOptions {
    /// The name of the engine, for logs.
    pub engine: String,
    /// The interface of the server.
    pub api: LlmApi,
    /// The URL of the API with its version, as in `https://api.openai.com/v1`. A query is kept, and
    /// the path of requests at the end, such as `/chat/completions`, is accepted.
    pub base_url: String,
    /// Sent as a bearer token.
    pub api_key: Option<SecretString>,
    /// The model of agents that name none. If missing, the server chooses.
    pub model: Option<String>,
    /// The proxy of all requests, as in `http://user:word@proxy.internal:3128`.
    pub proxy: Option<SecretString>,
    /// Requests streamed responses. Some servers do not support them, or not together with tools.
    pub streams: bool,
    /// True to request streams with `stream_options`. If missing, until a model refuses it.
    pub stream_options: Option<bool>,
    /// True to send the limit of tokens as `max_completion_tokens`, false as `max_tokens`. If missing,
    /// the first is sent once a model refuses the second.
    pub max_completion_tokens: Option<bool>,
    /// True if `<think>…</think>` at the beginning of a reply is reasoning. If missing, it is so for
    /// servers whose list of models shows that they are Ollama or llama.cpp.
    pub think_tags: Option<bool>,
    /// The names of the members that agents may add to requests. If missing, those that are usual for the interface.
    pub extra_body: Option<Vec<String>>,
    /// The kinds of files that the models take. If missing, those that the list of models names for each.
    pub inputs: Option<FileKinds>,
    /// The time limits of the server.
    pub timeouts: LlmTimeouts,
    /// The maximum number of idle connections.
    pub max_idle_connections: usize,
    /// The number of runtimes that request replies, which share the idle connections.
    pub runtimes: usize,
    /// Runs the fetch of the model list, which continues if the caller is dropped, and the readers of
    /// responses, which do not.
    pub tasks: TaskTracker,
    /// The runtime of `tasks`.
    pub runtime: Handle,
}

impl LlmOptions {
    /// Returns options without key, proxy and model, with streaming and the default time limits.
    pub fn new(
        engine: impl Into<String>,
        base_url: impl Into<String>,
        tasks: TaskTracker,
        runtime: Handle,
    ) -> Self {
        Self {
            engine: engine.into(),
            api: LlmApi::default(),
            base_url: base_url.into(),
            api_key: None,
            model: None,
            proxy: None,
            streams: true,
            stream_options: None,
            max_completion_tokens: None,
            think_tags: None,
            extra_body: None,
            inputs: None,
            timeouts: LlmTimeouts::default(),
            max_idle_connections: MAX_IDLE_CONNECTIONS,
            runtimes: 1,
            tasks,
            runtime,
        }
    }
}

impl fmt::Debug for LlmOptions {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("LlmOptions")
            .field("engine", &self.engine)
            .field("api", &self.api)
            // The other parts of a URL can be secret.
            .field("host", &host(&self.base_url))
            .field("has_api_key", &self.api_key.is_some())
            .field("model", &self.model)
            .field("has_proxy", &self.proxy.is_some())
            .field("streams", &self.streams)
            .field("stream_options", &self.stream_options)
            .field("max_completion_tokens", &self.max_completion_tokens)
            .field("think_tags", &self.think_tags)
            .field("extra_body", &self.extra_body)
            .field("inputs", &self.inputs)
            .field("timeouts", &self.timeouts)
            .finish_non_exhaustive()
    }
}

/// Invalid options. Its text contains no secret.
#[derive(Debug, thiserror::Error)]
pub enum LlmOptionsError {
    /// The base URL is invalid.
    #[error("the base URL must be http:// or https:// with a host, without a user or a fragment")]
    BaseUrl,
    /// The key contains characters that are not allowed in a header.
    #[error("the API key contains characters that are not allowed in an HTTP header")]
    ApiKey,
    /// The URL of the proxy is invalid.
    #[error("the proxy must be http:// or https:// with a host")]
    Proxy,
    /// Agents cannot add a member that the service sends itself.
    #[error("agents cannot be allowed to send '{0}', which the service sends itself")]
    ExtraBody(String),
    /// The client cannot be built, for example because certificates are missing.
    #[error("the HTTP client of the provider cannot be built")]
    Client(#[source] ports::BoxError),
}

/// The time limits of a provider, and the pauses between attempts.
#[derive(Debug, Clone, Copy)]
pub struct LlmTimeouts {
    /// Limit for connecting, including TLS.
    pub connect: Duration,
    /// Limit for the head of a response, and again from there to its first line. A response that is
    /// not streamed may take until the timeout of the agent.
    pub first_byte: Duration,
    /// Limit between two lines of a stream (a comment is a line, a part of a line is not), or
    /// between two parts of a response that is not streamed.
    pub idle: Duration,
    /// Limit for the rest of a stream, such as the usage, after its finish reason.
    pub trailer: Duration,
    /// The minimum pause before the first retry, which doubles for the second. A random time of up
    /// to the same length is added.
    pub pause: Duration,
    /// Limit for fetching the list of models.
    pub models: Duration,
}

impl Default for LlmTimeouts {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(5),
            first_byte: Duration::from_secs(30),
            idle: Duration::from_secs(30),
            trailer: Duration::from_secs(2),
            pause: Duration::from_millis(250),
            models: Duration::from_secs(2),
        }
    }
}
