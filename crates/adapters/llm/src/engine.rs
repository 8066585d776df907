//! The engine: one provider, asked anew for each answer.

use std::sync::Arc;

use async_trait::async_trait;
use ports::{ReplyEngine, ReplyError, ReplyRequest, ReplyStream};

use crate::{
    answering::Answering,
    client::Upstream,
    models::Models,
    options::{LlmOptions, LlmOptionsError},
    tools::Schemas,
    voice::spoken,
};

/// Asks the language models of one provider.
pub struct LlmReplyEngine {
    upstream: Arc<Upstream>,
    schemas: Arc<Schemas>,
    models: Arc<Models>,
}

impl LlmReplyEngine {
    /// Builds the one client of a provider; asks it nothing yet.
    pub fn new(options: LlmOptions) -> Result<Self, LlmOptionsError> {
        let upstream = Arc::new(Upstream::new(&options)?);
        let models = Models::new(Arc::clone(&upstream), options.tasks, options.runtime);
        Ok(Self {
            upstream,
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

    async fn reply(&self, request: ReplyRequest) -> Result<ReplyStream, ReplyError> {
        let (upstream, schemas) = (Arc::clone(&self.upstream), Arc::clone(&self.schemas));
        Ok(spoken(|voice| {
            Answering::answer(upstream, schemas, request, voice)
        }))
    }
}
