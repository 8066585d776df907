//! The contract tests of the port.

use rule_engine::RuleReplyEngine;

#[expect(clippy::unused_async, reason = "the contract awaits its fixture")]
async fn fixture() -> Box<RuleReplyEngine> {
    Box::new(RuleReplyEngine::new().expect("threads can be started"))
}

contract::reply_engine_contract!(crate::fixture);
