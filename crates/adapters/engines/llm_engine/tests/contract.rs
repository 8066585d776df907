//! The contract tests of the port.

use std::ops::Deref;

use llm_engine::{LlmOptions, LlmReplyEngine};
use tokio::runtime::Handle;
use tokio_util::task::TaskTracker;

use upstream::{Upstream, text_stream};

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

async fn fixture() -> Fixture {
    let upstream = Upstream::start([text_stream("Hello, I can tell the time.")]).await;
    let (tasks, runtime) = (TaskTracker::new(), Handle::current());
    let options = LlmOptions::new("llm", upstream.base_url(), tasks, runtime);
    Fixture {
        engine: LlmReplyEngine::new(options).expect("an engine"),
        _upstream: upstream,
    }
}

contract::reply_engine_contract!(crate::fixture);
