//! Replies by a schema: how the model learns it, and what happens to the text.
//!
//! The schema is a parameter of every request. If a server refuses that, the loop runs without it, and one request
//! without tools formats the reply. The text stays a draft until it was checked.

use domain::{FinishReason, InputFault, ResponseSchema};
use ports::{ModelRequest, ReplyError, SchemaError};
use serde_json::Value;

use super::{
    AgentLoop, enter,
    verdict::{Verdict, follow_up, formatting_note, judge, repair_note},
};
use crate::engines::{
    attempt::{Response, attempt, grow},
    chain::ReplySink,
    engine_breakers::AttemptPermit,
    partial_reply::PartialReply,
    schema_support::SchemaSupport,
};

/// The end of a loop.
#[derive(Debug)]
pub(crate) struct LoopEnd {
    pub(crate) finish_reason: FinishReason,
    /// The value of the text, if there is a schema.
    pub(crate) output: Option<Value>,
    /// True if the model has had to correct it.
    pub(crate) repaired: bool,
}

impl From<FinishReason> for LoopEnd {
    fn from(finish_reason: FinishReason) -> Self {
        Self {
            finish_reason,
            output: None,
            repaired: false,
        }
    }
}

/// The reason why there is no reply.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ReplyFailure {
    /// The engine failed.
    #[error(transparent)]
    Engine(#[from] ReplyError),
    /// The reply does not satisfy its schema. No other engine is asked.
    #[error("the reply does not satisfy its schema")]
    InvalidOutput(Vec<InputFault>),
}

impl<S: ReplySink> AgentLoop<'_, S> {
    /// Chooses how the model learns the schema.
    pub(super) fn choose_schema_support(&mut self) {
        let Some(schema) = &self.schema else { return };
        let is_parameter = self.candidate.engine.takes_schema(schema)
            && match self.support() {
                SchemaSupport::Always => true,
                SchemaSupport::WithoutTools => self.request.tools.is_empty(),
                SchemaSupport::AsText => false,
            };
        self.request.response_schema = is_parameter.then(|| schema.clone());
    }

    fn support(&self) -> SchemaSupport {
        let model = self.candidate.engine.model(&self.request.agent);
        self.candidate.schema_support.of(model.as_ref())
    }

    fn learn(&self, support: SchemaSupport) {
        let model = self.candidate.engine.model(&self.request.agent);
        tracing::info!(
            engine = self.candidate.name,
            ?support,
            "the server refused the schema of a reply; the model learns it otherwise for an hour"
        );
        self.candidate.schema_support.remember(model, support);
    }

    /// Sends a request of the loop. If it is refused, and not without the schema, the loop goes on without it.
    pub(super) async fn ask(
        &mut self,
        permit: AttemptPermit,
        request: ModelRequest,
    ) -> Result<Response, ReplyError> {
        let has_schema = request.response_schema.is_some();
        match attempt(self.candidate, permit, request.clone(), self.sink).await {
            Err(ReplyError::Rejected(_)) if has_schema => {
                let request = ModelRequest {
                    response_schema: None,
                    ..request
                };
                let permit = enter(self.candidate)?;
                // Boxed, like the end of a loop: they would enlarge the task of every turn.
                let asking = Box::pin(attempt(self.candidate, permit, request, self.sink));
                let response = asking.await?;
                self.request.response_schema = None;
                self.learn(if self.request.tools.is_empty() {
                    SchemaSupport::AsText
                } else {
                    SchemaSupport::WithoutTools
                });
                Ok(response)
            }
            outcome => outcome,
        }
    }

    /// Ends the loop with a reply that calls no tools.
    pub(super) async fn finish(&mut self, response: Response) -> Result<LoopEnd, ReplyFailure> {
        let mut finish_reason = response.finish_reason;
        let Some(schema) = self.schema.clone() else {
            return Ok(finish_reason.into());
        };
        // The rules of an agent reply to another request as to this one.
        let can_repeat = !self.candidate.engine.is_immediate();
        if can_repeat && self.request.response_schema.is_none() {
            finish_reason = self.format(&schema).await?;
        }
        let mut repaired = false;
        loop {
            let text = self.draft();
            let (schemas, tenant) = (&self.candidate.schemas, &self.request.tenant);
            let checking = schemas.check_output(tenant, &schema, text.clone());
            let value = checking.await.map_err(|error| match error {
                SchemaError::Overloaded | SchemaError::Invalid => ReplyError::Overloaded,
            })?;
            match judge(finish_reason, value, can_repeat && !repaired) {
                Verdict::Accept(output) => {
                    grow(self.sink, PartialReply::publish_draft)?;
                    return Ok(LoopEnd {
                        finish_reason,
                        output: Some(output),
                        repaired,
                    });
                }
                Verdict::Repair(faults) => {
                    repaired = true;
                    self.request = follow_up(&self.request, &text, repair_note(&faults));
                    finish_reason = self.ask_again().await?.finish_reason;
                }
                Verdict::Fail(faults) => return Err(ReplyFailure::InvalidOutput(faults)),
            }
        }
    }

    /// Has the model write its reply by the schema, and returns the reason why that ended.
    async fn format(&mut self, schema: &ResponseSchema) -> Result<FinishReason, ReplyError> {
        let is_parameter = self.support() < SchemaSupport::AsText;
        let note = |is_parameter: bool| formatting_note((!is_parameter).then_some(schema));
        self.request = follow_up(&self.request, &self.draft(), note(is_parameter));
        self.request.without_tools();
        self.request.response_schema = is_parameter.then(|| schema.clone());
        match self.ask_again().await {
            Err(ReplyError::Rejected(_)) if is_parameter => {
                self.request.response_schema = None;
                self.request.message = note(false).into();
                let response = self.ask_again().await?;
                self.learn(SchemaSupport::AsText);
                Ok(response.finish_reason)
            }
            outcome => Ok(outcome?.finish_reason),
        }
    }

    /// Sends one more request. Its text replaces the draft.
    async fn ask_again(&self) -> Result<Response, ReplyError> {
        if let Some(journal) = self.journal {
            journal.release_if_draining().await;
        }
        self.sink.with_reply(PartialReply::start_section);
        let permit = enter(self.candidate)?;
        attempt(self.candidate, permit, self.request.clone(), self.sink).await
    }

    fn draft(&self) -> String {
        self.sink.with_reply(|reply| reply.section().to_owned())
    }
}
