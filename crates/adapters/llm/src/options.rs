//! What the operator says of one provider.

use std::{fmt, time::Duration};

use domain::web_address::host;
use secrecy::SecretString;
use tokio::runtime::Handle;
use tokio_util::task::TaskTracker;

/// One provider: a server, and how to ask it.
#[derive(Clone)]
pub struct LlmOptions {
    /// What the engine is called, for the log.
    pub engine: String,
    /// Where its API stands, version included, as in `https://api.openai.com/v1`; a query is kept,
    /// and `/chat/completions` at the end is understood.
    pub base_url: String,
    /// Sent as a bearer token.
    pub api_key: Option<SecretString>,
    /// The model for agents that name none; without it the server chooses.
    pub model: Option<String>,
    /// Through which all requests go, as in `http://user:word@proxy.internal:3128`.
    pub proxy: Option<SecretString>,
    /// Whether it is asked to answer piece by piece: some servers cannot, or not when there are
    /// tools to call.
    pub streams: bool,
    /// How long the server may take.
    pub times: LlmTimes,
    /// Where the list of models is fetched, so that a fetch goes on when who asked for it has gone.
    pub tasks: TaskTracker,
    /// What `tasks` run on.
    pub runtime: Handle,
}

impl LlmOptions {
    /// A server without key, proxy and model, that streams, with the times that are usual.
    pub fn new(
        engine: impl Into<String>,
        base_url: impl Into<String>,
        tasks: TaskTracker,
        runtime: Handle,
    ) -> Self {
        Self {
            engine: engine.into(),
            base_url: base_url.into(),
            api_key: None,
            model: None,
            proxy: None,
            streams: true,
            times: LlmTimes::default(),
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
            // What else stands in an address can be a secret, too.
            .field("host", &host(&self.base_url))
            .field("has_api_key", &self.api_key.is_some())
            .field("model", &self.model)
            .field("has_proxy", &self.proxy.is_some())
            .field("streams", &self.streams)
            .field("times", &self.times)
            .finish_non_exhaustive()
    }
}

/// A provider that cannot be asked as it is described. Says no secret.
#[derive(Debug, thiserror::Error)]
pub enum LlmOptionsError {
    /// The base URL is none, or none of a server.
    #[error("the base URL must be http:// or https:// with a host, without a user or a fragment")]
    BaseUrl,
    /// The key cannot stand in a header.
    #[error("the API key holds characters that no header can carry")]
    ApiKey,
    /// The proxy's URL is none.
    #[error("the proxy must be http:// or https:// with a host")]
    Proxy,
    /// The client cannot be built, for want of certificates, say.
    #[error("the client cannot be built")]
    Client(#[source] ports::BoxError),
}

/// How long a provider may take, and how long this engine waits before it asks again.
#[derive(Debug, Clone, Copy)]
pub struct LlmTimes {
    /// Until there is a connection, encryption included.
    pub connect: Duration,
    /// Until the head of the answer, and from there until its first line. Nothing of an answer that
    /// was asked for as a whole comes before the last of it is known: it has the agent's time.
    pub first_byte: Duration,
    /// Between two lines of a stream (a comment is one, a part of a line is none), or two parts of
    /// an answer that comes as a whole.
    pub idle: Duration,
    /// For what a stream still says, such as the usage, after it told why the answer ended.
    pub trailer: Duration,
    /// Before the first repeat, at least; twice as long before the second. Up to as much again is
    /// added by chance.
    pub pause: Duration,
    /// One call of a tool.
    pub tool: Duration,
    /// The list of models.
    pub models: Duration,
}

impl Default for LlmTimes {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(5),
            first_byte: Duration::from_secs(30),
            idle: Duration::from_secs(30),
            trailer: Duration::from_secs(2),
            pause: Duration::from_millis(250),
            tool: Duration::from_secs(15),
            models: Duration::from_secs(2),
        }
    }
}
