//! The contract tests of the port.

use std::ops::Deref;

use llm_engine::{LlmApi, LlmOptions, LlmReplyEngine};
use tokio::runtime::Handle;
use tokio_util::task::TaskTracker;

use upstream::{Response, Upstream, message, text_block, text_stream};

#[path = "engine/upstream/mod.rs"]
#[expect(dead_code, reason = "the other tests need more of it")]
mod upstream;

struct Fixture {
    engine: LlmReplyEngine,
    _upstream: Upstream,
}

impl Deref for Fixture {
    type Target = LlmReplyEngine;

    fn deref(&self) -> &LlmReplyEngine {
        &self.engine
    }
}

const REPLY: &str = "Hello, I can tell the time.";

async fn engine_of(api: LlmApi, response: Response) -> Fixture {
    let upstream = Upstream::start([response]).await;
    let (tasks, runtime) = (TaskTracker::new(), Handle::current());
    let options = LlmOptions {
        api,
        ..LlmOptions::new("llm", upstream.base_url(), tasks, runtime)
    };
    Fixture {
        engine: LlmReplyEngine::new(options).expect("an engine"),
        _upstream: upstream,
    }
}

mod openai {
    use super::*;

    async fn fixture() -> Fixture {
        engine_of(LlmApi::OpenAi, text_stream(REPLY)).await
    }

    contract::reply_engine_contract!(super::fixture);
}

mod anthropic {
    use super::*;

    async fn fixture() -> Fixture {
        let response = message("end_turn", &[text_block(0, &[REPLY])]);
        engine_of(LlmApi::Anthropic, response).await
    }

    contract::reply_engine_contract!(super::fixture);
}
