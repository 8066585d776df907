//! The way to one server.

use std::time::Duration;

use domain::LlmSettings;
use reqwest::{
    Client, ClientBuilder, Method, Proxy, Request, Response, Url,
    header::{self, HeaderMap, HeaderName, HeaderValue},
    redirect,
};
use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;
use tokio::time::timeout;

use crate::{
    address::{QUESTIONS, base_url, below, is_deployment, proxy_url, wants_completion_tokens},
    complaint::Complaint,
    fault::Fault,
    options::{LlmOptions, LlmOptionsError, LlmTimes},
    patience::retry_after,
    wire::Settings,
};

/// The most of a refusal that is read, and how long that may take.
const REFUSAL_BYTES: usize = 64 * 1024;
const REFUSAL_TIME: Duration = Duration::from_secs(2);
/// How long the first byte of a whole answer may take, and of its body: longer than any agent has
/// time, which ends the wait.
const FIRST_BYTE_OF_WHOLE_ANSWERS: Duration = Duration::from_hours(24);

/// One server, and the one client that asks it.
pub(crate) struct Upstream {
    /// What the engine is called that asks it.
    pub(crate) engine: String,
    client: Client,
    questions: Url,
    models: Url,
    key: Option<SecretString>,
    /// Whether it calls the most tokens of an answer by their new name.
    counts_completion_tokens: bool,
    pub(crate) model: Option<String>,
    pub(crate) streams: bool,
    pub(crate) times: LlmTimes,
}

impl Upstream {
    /// Builds the client: reads the certificates of the system's authorities where they are needed,
    /// some milliseconds.
    pub(crate) fn new(options: &LlmOptions) -> Result<Self, LlmOptionsError> {
        let base = base_url(&options.base_url)?;
        let proxy = options.proxy.as_ref().map(ExposeSecret::expose_secret);
        let proxy = proxy.map(proxy_url).transpose()?;
        let is_encrypted = |address: &Url| address.scheme() == "https";
        let needs_certificates = is_encrypted(&base) || proxy.as_ref().is_some_and(is_encrypted);
        let is_told = |key: &&SecretString| !key.expose_secret().is_empty();
        let key = options.api_key.as_ref().filter(is_told);
        let headers = headers(key, &base)?;
        let mut builder = plain(options.times.connect).default_headers(headers);
        if !needs_certificates {
            // A machine without any should still be able to ask a server of its own.
            builder = builder.tls_certs_only([]);
        }
        if let Some(proxy) = proxy {
            let proxy = Proxy::all(proxy).map_err(|_fault| LlmOptionsError::Proxy)?;
            builder = builder.proxy(proxy);
        }
        let client = builder.build().map_err(|error| {
            let error = error.without_url();
            LlmOptionsError::Client(error.into())
        })?;
        Ok(Self {
            engine: options.engine.clone(),
            client,
            questions: below(&base, &QUESTIONS),
            models: below(&base, &["models"]),
            key: key.cloned(),
            counts_completion_tokens: wants_completion_tokens(&base),
            model: options.model.clone(),
            streams: options.streams,
            times: times(options),
        })
    }

    /// The secret that must not be told.
    pub(crate) fn key(&self) -> Option<&str> {
        self.key.as_ref().map(ExposeSecret::expose_secret)
    }

    /// Where questions are put, without what may be secret in it.
    pub(crate) fn path(&self) -> &str {
        self.questions.path()
    }

    /// What an agent says of how the model is to speak, as this server wants it said.
    pub(crate) fn settings(&self, agent: Option<&LlmSettings>) -> Settings {
        let Some(agent) = agent else {
            return Settings::default();
        };
        let most = agent.max_output_tokens;
        // The sum of a negative zero, which some servers refuse, and zero is zero.
        let plain = |number: f64| number + 0.0;
        Settings {
            temperature: agent.temperature.map(plain),
            top_p: agent.top_p.map(plain),
            max_tokens: most.filter(|_| !self.counts_completion_tokens),
            max_completion_tokens: most.filter(|_| self.counts_completion_tokens),
            seed: agent.seed,
            stop: agent.stop.clone().unwrap_or_default(),
        }
    }

    /// What is said of whether the model may call its tools. That it may goes without saying, and
    /// some models do not take it; one server that cannot stream calls wants to hear it.
    pub(crate) fn tool_choice(&self, may_call: bool, has_tools: bool) -> Option<&'static str> {
        match (has_tools, may_call) {
            (false, _) => None,
            (true, false) => Some("none"),
            (true, true) => (!self.streams).then_some("auto"),
        }
    }

    /// What the model said beside calls of tools, as this server wants it told back. Where nothing
    /// was said, most want `null`; the one that cannot stream calls wants text.
    pub(crate) fn said_beside_calls(&self, text: String) -> Option<String> {
        let must_be_text = !self.streams;
        (must_be_text || !text.is_empty()).then_some(text)
    }

    /// A question, ready to be put as often as it takes.
    pub(crate) fn question(&self, body: Vec<u8>) -> Request {
        let mut request = Request::new(Method::POST, self.questions.clone());
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

    /// Puts a question, and waits for the head of an answer that is none of a refusal.
    pub(crate) async fn put(&self, question: &Request) -> Result<Response, Fault> {
        let again = question.try_clone();
        let question = again.ok_or(Fault::Malformed("the question cannot be repeated"))?;
        let asked = timeout(self.times.first_byte, self.client.execute(question));
        let answer = asked.await.map_err(|_elapsed| Fault::TimedOut)?;
        let answer = answer.map_err(Fault::unreachable)?;
        if answer.status().is_success() {
            Ok(answer)
        } else {
            Err(self.read_refusal(answer).await.into())
        }
    }

    /// Asks for the models.
    pub(crate) async fn list_models(&self) -> Result<Response, Fault> {
        let request = Request::new(Method::GET, self.models.clone());
        let answer = self.client.execute(request).await;
        let answer = answer.map_err(Fault::unreachable)?;
        if answer.status().is_success() {
            Ok(answer)
        } else {
            Err(Complaint::read(Some(answer.status()), &Value::Null, None).into())
        }
    }

    async fn read_refusal(&self, mut answer: Response) -> Complaint {
        let retry_after = retry_after(answer.headers());
        let status = answer.status();
        let mut body = Vec::new();
        let reading = async {
            while let Ok(Some(part)) = answer.chunk().await {
                body.extend_from_slice(&part);
                if body.len() > REFUSAL_BYTES {
                    break;
                }
            }
        };
        // What it says beside the status is for the log, and may be missing there.
        let _ = timeout(REFUSAL_TIME, reading).await;
        let mut said: Value = serde_json::from_slice(&body).unwrap_or_default();
        if let Some(first) = said.get_mut(0) {
            said = first.take();
        }
        let error = said.get("error").unwrap_or(&said);
        Complaint {
            retry_after,
            ..Complaint::read(Some(status), error, self.key())
        }
    }
}

fn times(options: &LlmOptions) -> LlmTimes {
    let mut times = options.times;
    if !options.streams {
        times.first_byte = FIRST_BYTE_OF_WHOLE_ANSWERS;
    }
    times
}

fn plain(connect: Duration) -> ClientBuilder {
    Client::builder()
        .user_agent("agent-service")
        .redirect(redirect::Policy::none())
        // Only a proxy that the operator names; none of the environment.
        .no_proxy()
        .connect_timeout(connect)
        // What is repeated, and when, is decided here.
        .retry(reqwest::retry::never())
        // Over HTTP/2 all answers share one connection, and servers allow some hundred at a time:
        // the rest would wait, for as long as models speak.
        .http1_only()
}

fn headers(key: Option<&SecretString>, base: &Url) -> Result<HeaderMap, LlmOptionsError> {
    let mut headers = HeaderMap::new();
    if let Some(key) = key {
        let key = key.expose_secret();
        let (name, value) = if is_deployment(base) {
            (HeaderName::from_static("api-key"), key.to_owned())
        } else {
            (header::AUTHORIZATION, format!("Bearer {key}"))
        };
        let value = HeaderValue::try_from(value).map_err(|_invalid| LlmOptionsError::ApiKey)?;
        headers.entry(name).or_insert(value).set_sensitive(true);
    }
    Ok(headers)
}
