//! The engine against servers with Anthropic's API.

mod conversations;
mod failures;
mod parameters;
mod replies;

use llm_engine::{LlmApi, LlmOptions, LlmReplyEngine};

use crate::{
    fixture::options,
    upstream::{Response, Upstream},
};

fn options_of(upstream: &Upstream) -> LlmOptions {
    LlmOptions {
        api: LlmApi::Anthropic,
        ..options(upstream.base_url())
    }
}

/// A server that returns these responses, and an engine that uses it.
async fn fixture(responses: impl IntoIterator<Item = Response>) -> (Upstream, LlmReplyEngine) {
    let upstream = Upstream::start(responses).await;
    let engine = LlmReplyEngine::new(options_of(&upstream)).expect("an engine");
    (upstream, engine)
}
