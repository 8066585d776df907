//! How the tests ask, and what they are answered.

use futures::StreamExt as _;
use ports::{ReplyChunk, ReplyEngine as _, ReplyError, ReplyStream};
use scripted_engine::ScriptedEngine;

pub(crate) async fn asked(
    engine: &ScriptedEngine,
    message: &str,
) -> Result<ReplyStream, ReplyError> {
    let mut request = contract::reply_engine::request(0);
    message.clone_into(&mut request.message);
    engine.reply(request).await
}

/// The stream of an engine that does not refuse at once.
pub(crate) async fn stream(engine: &ScriptedEngine, message: &str) -> ReplyStream {
    asked(engine, message).await.expect("a stream")
}

/// The whole answer of an engine of its own that does not fail.
pub(crate) async fn pieces(message: &str) -> Vec<ReplyChunk> {
    let stream = stream(&ScriptedEngine::new(), message).await;
    stream
        .map(|piece| piece.expect("no failure"))
        .collect()
        .await
}

pub(crate) fn delta(text: &str) -> ReplyChunk {
    ReplyChunk::Delta(text.to_owned())
}
