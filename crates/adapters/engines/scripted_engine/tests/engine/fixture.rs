//! The fixtures: requests and replies.

use futures::StreamExt as _;
use ports::{ModelChunk, ModelStream, ReplyEngine as _, ReplyError};
use scripted_engine::ScriptedEngine;

pub(crate) async fn start_reply(
    engine: &ScriptedEngine,
    message: &str,
) -> Result<ModelStream, ReplyError> {
    let mut request = contract::reply_engine::request(0);
    request.message = message.into();
    engine.request(request).await
}

/// Returns the stream of a request that does not fail at once.
pub(crate) async fn stream(engine: &ScriptedEngine, message: &str) -> ModelStream {
    start_reply(engine, message).await.expect("a stream")
}

/// Collects the whole reply of a new engine.
pub(crate) async fn collect_reply(message: &str) -> Vec<ModelChunk> {
    let stream = stream(&ScriptedEngine::new(), message).await;
    stream
        .map(|piece| piece.expect("no failure"))
        .collect()
        .await
}

pub(crate) fn delta(text: &str) -> ModelChunk {
    ModelChunk::Text(text.to_owned())
}
