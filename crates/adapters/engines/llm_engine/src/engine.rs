//! The engine of one provider.

use std::sync::Arc;

use async_trait::async_trait;
use domain::{Agent, AgentConfig, FileKinds, InputFault, ResponseSchema};
use ports::{ModelRequest, ModelStream, ReplyEngine, ReplyError};

use crate::{
    chunk_sender::chunk_stream,
    client::Upstream,
    completion::Completion,
    model_list::ModelList,
    options::{LlmOptions, LlmOptionsError},
};

/// An engine that generates replies with the language models of one provider.
pub struct LlmReplyEngine {
    models: Arc<ModelList>,
}

impl LlmReplyEngine {
    /// Builds the client of the provider. Sends nothing yet.
    pub fn new(options: LlmOptions) -> Result<Self, LlmOptionsError> {
        let upstream = Arc::new(Upstream::new(&options)?);
        let models = ModelList::new(upstream, options.tasks, options.runtime);
        Ok(Self {
            models: Arc::new(models),
        })
    }
}

#[async_trait]
impl ReplyEngine for LlmReplyEngine {
    fn model(&self, agent: &Agent) -> Option<String> {
        self.models.upstream().model_of(&agent.config)
    }

    async fn models(&self) -> Option<Vec<String>> {
        self.models.names().await
    }

    async fn inputs(&self, config: &AgentConfig) -> FileKinds {
        let model = self.models.upstream().model_of(config);
        self.models.inputs(model.as_deref()).await
    }

    fn faults(&self, config: &AgentConfig) -> Vec<InputFault> {
        self.models.upstream().extra_body.faults(config)
    }

    fn takes_schema(&self, schema: &ResponseSchema) -> bool {
        self.models.upstream().api.takes_schema(schema.value())
    }

    fn is_reachable(&self) -> bool {
        self.models.upstream().is_reachable()
    }

    async fn request(&self, request: ModelRequest) -> Result<ModelStream, ReplyError> {
        let models = Arc::clone(&self.models);
        Ok(chunk_stream(|sender| {
            Completion::run(models, request, sender)
        }))
    }
}
