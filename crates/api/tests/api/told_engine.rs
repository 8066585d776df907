//! An engine whose replies are in the message.

use std::{
    collections::{HashMap, VecDeque},
    sync::Arc,
};

use async_trait::async_trait;
use domain::{FinishReason, TurnId};
use futures::{StreamExt as _, stream};
use parking_lot::Mutex;
use ports::{ModelChunk, ModelRequest, ModelStream, ReplyEngine, ReplyError};
use serde_json::{Value, json};

use crate::api_server::{ApiServer, ApiServerBuilder, id_of};

/// Texts, each with the reason of its end.
type Replies = VecDeque<(String, String)>;

/// An engine that is told its replies by the message: a list of texts, each with the reason of its end.
#[derive(Clone, Default)]
pub(crate) struct Told {
    pub(crate) left: Arc<Mutex<HashMap<TurnId, Replies>>>,
    pub(crate) requests: Arc<Mutex<Vec<ModelRequest>>>,
}

#[async_trait]
impl ReplyEngine for Told {
    async fn request(&self, request: ModelRequest) -> Result<ModelStream, ReplyError> {
        self.requests.lock().push(request.clone());
        let mut left = self.left.lock();
        let replies = left
            .entry(request.turn_id)
            .or_insert_with(|| serde_json::from_str(&request.message).expect("replies"));
        let (text, end) = replies.pop_front().expect("one more reply");
        let chunks = [
            ModelChunk::Text(text),
            ModelChunk::End {
                finish_reason: FinishReason::read(&end),
                usage: None,
                model: None,
                state: None,
            },
        ];
        Ok(stream::iter(chunks.map(Ok)).boxed())
    }
}

pub(crate) fn schema() -> Value {
    json!({
        "type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"],
        "additionalProperties": false,
    })
}

pub(crate) fn told(replies: &[(&str, &str)]) -> String {
    serde_json::to_string(replies).expect("JSON")
}

pub(crate) async fn told_agent(config: Value) -> (ApiServer, Told, String) {
    let engine = Told::default();
    let builder = ApiServerBuilder::default().engine("told", engine.clone());
    let api = builder.setting("ENGINES__DEFAULT", "told").start().await;
    let agent = json!({"name": "A", "config": config});
    let agent = api.writer().post("/api/agents", agent).await.created();
    let id = id_of(&agent);
    (api, engine, id)
}
