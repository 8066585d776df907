//! The engine of one provider.

use std::sync::Arc;

use async_trait::async_trait;
use ports::{ReplyEngine, ReplyError, ReplyRequest, ReplyStream, ToolDefinition};

use crate::{
    chunk_sender::chunk_stream,
    client::Upstream,
    model_list::ModelList,
    options::{LlmOptions, LlmOptionsError},
    reply_generator::ReplyGenerator,
    tools::SchemaCache,
};

/// An engine that generates replies with the language models of one provider.
pub struct LlmReplyEngine {
    schemas: Arc<SchemaCache>,
    models: Arc<ModelList>,
}

impl LlmReplyEngine {
    /// Builds the client of the provider. Sends nothing yet.
    pub fn new(options: LlmOptions) -> Result<Self, LlmOptionsError> {
        let upstream = Arc::new(Upstream::new(&options)?);
        let models = ModelList::new(upstream, options.tasks, options.runtime);
        Ok(Self {
            schemas: Arc::default(),
            models: Arc::new(models),
        })
    }
}

#[async_trait]
impl ReplyEngine for LlmReplyEngine {
    async fn models(&self) -> Option<Vec<String>> {
        self.models.names().await
    }

    fn is_reachable(&self) -> bool {
        self.models.upstream().is_reachable()
    }

    fn has_refused(&self, tool: &Arc<ToolDefinition>) -> bool {
        self.schemas.has_refused(tool)
    }

    async fn reply(&self, request: ReplyRequest) -> Result<ReplyStream, ReplyError> {
        let (models, schemas) = (Arc::clone(&self.models), Arc::clone(&self.schemas));
        Ok(chunk_stream(|sender| {
            ReplyGenerator::run(models, schemas, request, sender)
        }))
    }
}
