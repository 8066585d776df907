//! The contract tests of the port.

use scripted_engine::ScriptedEngine;

#[expect(clippy::unused_async, reason = "the contract awaits its fixture")]
async fn fixture() -> Box<ScriptedEngine> {
    Box::new(ScriptedEngine::new())
}

contract::reply_engine_contract!(crate::fixture);
