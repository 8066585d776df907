//! The fixtures: engines, requests and replies.

use std::{sync::Arc, time::Duration};

use contract::reply_engine::request;
use domain::{FinishReason, Usage};
use futures::StreamExt as _;
use llm_engine::{LlmOptions, LlmReplyEngine, LlmTimeouts};
use ports::{ModelChunk, ModelRequest, ReplyEngine as _, ReplyError, RequestedCall};
use tokio::runtime::Handle;
use tokio_util::task::TaskTracker;

use crate::upstream::{Response, Upstream};

/// The API key, which must not appear in logs or errors.
pub(crate) const KEY: &str = "sk-secret-of-the-operator";

/// Options with short pauses.
pub(crate) fn options(base_url: impl Into<String>) -> LlmOptions {
    LlmOptions {
        api_key: Some(KEY.into()),
        model: Some("model-of-the-operator".to_owned()),
        timeouts: LlmTimeouts {
            pause: Duration::from_millis(1),
            ..LlmTimeouts::default()
        },
        ..LlmOptions::new("spare", base_url, TaskTracker::new(), Handle::current())
    }
}

/// An engine that uses this server.
pub(crate) fn engine(upstream: &Upstream) -> LlmReplyEngine {
    LlmReplyEngine::new(options(upstream.base_url())).expect("an engine")
}

/// An engine with other time limits.
pub(crate) fn engine_with(
    upstream: &Upstream,
    change: impl FnOnce(&mut LlmTimeouts),
) -> LlmReplyEngine {
    let mut options = options(upstream.base_url());
    change(&mut options.timeouts);
    LlmReplyEngine::new(options).expect("an engine")
}

/// A server that returns these responses, and an engine that uses it.
pub(crate) async fn fixture(
    responses: impl IntoIterator<Item = Response>,
) -> (Upstream, LlmReplyEngine) {
    let upstream = Upstream::start(responses).await;
    let engine = engine(&upstream);
    (upstream, engine)
}

/// A first message to an agent with this timeout.
pub(crate) fn request_within(time: Duration) -> ModelRequest {
    let mut request = request(0);
    let agent = Arc::make_mut(&mut request.agent);
    agent.config.timeout_ms = Some(u32::try_from(time.as_millis()).expect("a short time"));
    request
}

/// The whole reply of an engine.
#[derive(Debug)]
pub(crate) struct CollectedReply {
    pub(crate) chunks: Vec<ModelChunk>,
    pub(crate) error: Option<ReplyError>,
}

impl CollectedReply {
    pub(crate) fn deltas(&self) -> Vec<&str> {
        let deltas = self.chunks.iter().filter_map(|chunk| match chunk {
            ModelChunk::Text(text) => Some(text.as_str()),
            _ => None,
        });
        deltas.collect()
    }

    pub(crate) fn calls(&self) -> Vec<RequestedCall> {
        let calls = self.chunks.iter().filter_map(|chunk| match chunk {
            ModelChunk::ToolCall(call) => Some(call.clone()),
            _ => None,
        });
        calls.collect()
    }

    pub(crate) fn text(&self) -> String {
        self.deltas().concat()
    }

    pub(crate) fn reasoning(&self) -> String {
        let pieces = self.chunks.iter().filter_map(|chunk| match chunk {
            ModelChunk::Reasoning(text) => Some(text.as_str()),
            _ => None,
        });
        pieces.collect()
    }

    #[track_caller]
    pub(crate) fn end(&self) -> (FinishReason, Option<Usage>) {
        assert!(self.error.is_none(), "{:?}", self.error);
        match self.chunks.last() {
            Some(ModelChunk::End {
                finish_reason,
                usage,
                ..
            }) => (*finish_reason, *usage),
            other => panic!("the last chunk is {other:?}"),
        }
    }

    /// The model that the response names.
    #[track_caller]
    pub(crate) fn model(&self) -> Option<&str> {
        match self.chunks.last() {
            Some(ModelChunk::End { model, .. }) => model.as_deref(),
            other => panic!("the last chunk is {other:?}"),
        }
    }

    /// The error and its causes, as they are logged.
    #[track_caller]
    pub(crate) fn failure(&self) -> String {
        ports::error::one_line(self.error.as_ref().expect("a failure"))
    }
}

/// Collects the whole reply to a request.
pub(crate) async fn collect_reply(
    engine: &LlmReplyEngine,
    request: ModelRequest,
) -> CollectedReply {
    let mut reply = CollectedReply {
        chunks: Vec::new(),
        error: None,
    };
    let mut stream = engine.request(request).await.expect("a stream");
    while let Some(part) = stream.next().await {
        assert!(reply.error.is_none(), "a chunk follows an error");
        match part {
            Ok(chunk) => reply.chunks.push(chunk),
            Err(error) => reply.error = Some(error),
        }
    }
    reply
}

/// Collects the reply to a first message if the server returns these responses.
pub(crate) async fn reply_to(responses: impl IntoIterator<Item = Response>) -> CollectedReply {
    let (_upstream, engine) = fixture(responses).await;
    collect_reply(&engine, request(0)).await
}
