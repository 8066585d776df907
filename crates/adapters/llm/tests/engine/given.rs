//! Engines and requests.

use std::{sync::Arc, time::Duration};

use contract::reply_engine::request;
use domain::{FinishReason, Usage};
use futures::StreamExt as _;
use llm_engine::{LlmOptions, LlmReplyEngine, LlmTimes};
use ports::{ReplyChunk, ReplyEngine as _, ReplyError, ReplyRequest};
use tokio::runtime::Handle;
use tokio_util::task::TaskTracker;

use crate::upstream::{Answer, Upstream};

/// The key that must be told nobody else.
pub(crate) const KEY: &str = "sk-secret-of-the-operator";

/// Options with times that a test can wait for.
pub(crate) fn options(base_url: impl Into<String>) -> LlmOptions {
    LlmOptions {
        api_key: Some(KEY.into()),
        model: Some("model-of-the-operator".to_owned()),
        times: LlmTimes {
            pause: Duration::from_millis(1),
            ..LlmTimes::default()
        },
        ..LlmOptions::new("spare", base_url, TaskTracker::new(), Handle::current())
    }
}

/// An engine that asks this server.
pub(crate) fn engine(upstream: &Upstream) -> LlmReplyEngine {
    LlmReplyEngine::new(options(upstream.base_url())).expect("an engine")
}

/// An engine with other times.
pub(crate) fn engine_with(
    upstream: &Upstream,
    change: impl FnOnce(&mut LlmTimes),
) -> LlmReplyEngine {
    let mut options = options(upstream.base_url());
    change(&mut options.times);
    LlmReplyEngine::new(options).expect("an engine")
}

/// A server that gives these answers, and an engine that asks it.
pub(crate) async fn given(answers: impl IntoIterator<Item = Answer>) -> (Upstream, LlmReplyEngine) {
    let upstream = Upstream::answering(answers).await;
    let engine = engine(&upstream);
    (upstream, engine)
}

/// A first message to an agent whose time is this.
pub(crate) fn request_within(time: Duration) -> ReplyRequest {
    let mut request = request(0);
    let agent = Arc::make_mut(&mut request.agent);
    agent.config.timeout_ms = Some(u32::try_from(time.as_millis()).expect("a short time"));
    request
}

/// What an engine says.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) chunks: Vec<ReplyChunk>,
    pub(crate) error: Option<ReplyError>,
}

impl Said {
    pub(crate) fn deltas(&self) -> Vec<&str> {
        let deltas = self.chunks.iter().filter_map(|chunk| match chunk {
            ReplyChunk::Delta(text) => Some(text.as_str()),
            _ => None,
        });
        deltas.collect()
    }

    pub(crate) fn text(&self) -> String {
        self.deltas().concat()
    }

    #[track_caller]
    pub(crate) fn end(&self) -> (FinishReason, Option<Usage>) {
        assert!(self.error.is_none(), "{:?}", self.error);
        match self.chunks.last() {
            Some(ReplyChunk::End {
                finish_reason,
                usage,
            }) => (*finish_reason, *usage),
            other => panic!("the last is {other:?}"),
        }
    }

    /// The error and its causes, as they are logged.
    #[track_caller]
    pub(crate) fn failure(&self) -> String {
        ports::error::chain(self.error.as_ref().expect("a failure"))
    }
}

/// Hears all that an engine says to a request.
pub(crate) async fn hear(engine: &LlmReplyEngine, request: ReplyRequest) -> Said {
    let mut said = Said {
        chunks: Vec::new(),
        error: None,
    };
    let mut stream = engine.reply(request).await.expect("a stream");
    while let Some(part) = stream.next().await {
        assert!(said.error.is_none(), "nothing comes after an error");
        match part {
            Ok(chunk) => said.chunks.push(chunk),
            Err(error) => said.error = Some(error),
        }
    }
    said
}

/// Hears what an engine says to a first message, when its server answers so.
pub(crate) async fn heard(answers: impl IntoIterator<Item = Answer>) -> Said {
    let (_upstream, engine) = given(answers).await;
    hear(&engine, request(0)).await
}
