//! The implementation of the port.

use std::{io, ops::ControlFlow, sync::Arc, task::Poll, time::Duration};

use async_trait::async_trait;
use cpu_pool::{Admission, CpuPool, PoolError, TimeSlice};
use domain::{Agent, FinishReason, InputFault, RuleTest, TenantId};
use futures::{StreamExt as _, stream};
use ports::{ModelChunk, ModelRequest, ModelStream, PrepareError, ReplyEngine, ReplyError};
use serde_json::Value;

use crate::{
    cache::{CompiledRulesCache, Entry},
    reply::{Answer, answer},
    report::report,
    search::{Search, SearchTimeout},
};

/// The maximum length, in bytes, of a message that is searched on the async thread. Steps that
/// cannot pause, such as splitting it into words, then take less than a millisecond.
const MAX_INLINE_MESSAGE_BYTES: usize = 4 * 1024;
/// The maximum time of a search on the async thread. Ordinary rules need a tenth of it.
const INLINE_SLICE: Duration = Duration::from_millis(1);

/// The rule engine. Answers at once and from the request alone: with a reply, or with the tool call of
/// the rule that matches, which replies once the call has a result.
#[derive(Debug)]
pub struct RuleReplyEngine {
    cache: CompiledRulesCache,
    pool: Arc<CpuPool>,
}

/// The stored rules of the agent are invalid.
#[derive(Debug, thiserror::Error)]
#[error("{pointer}: {detail}")]
struct InvalidRules {
    pointer: String,
    detail: String,
}

impl RuleReplyEngine {
    /// Starts an engine with an empty cache, for all tenants.
    pub fn new() -> io::Result<Self> {
        Ok(Self {
            cache: CompiledRulesCache::new(),
            pool: CpuPool::start()?,
        })
    }

    /// Answers on this thread if that is quick; otherwise returns the request.
    fn answer_inline(
        &self,
        request: ModelRequest,
    ) -> ControlFlow<Result<Answer, ReplyError>, ModelRequest> {
        if request.message.len() > MAX_INLINE_MESSAGE_BYTES {
            return ControlFlow::Continue(request);
        }
        let Some(entry) = self.cache.get(&request.tenant, &request.agent) else {
            return ControlFlow::Continue(request);
        };
        let mut search = match search(&entry, request) {
            Ok(search) => search,
            Err(rejected) => return ControlFlow::Break(Err(rejected)),
        };
        match advance(&mut search, TimeSlice::new(INLINE_SLICE)) {
            Poll::Ready(answer) => ControlFlow::Break(answer),
            Poll::Pending => ControlFlow::Continue(search.request),
        }
    }

    /// Answers on the pool. While the request waits there, it holds no compiled rules.
    async fn answer_on_pool(&self, request: ModelRequest) -> Result<Answer, ReplyError> {
        let (admission, mut search) = self.search_on_pool(request).await?;
        let answer = admission
            .run(move |slice| advance(&mut search, slice))
            .await;
        answer.map_err(unavailable)?
    }

    async fn search_on_pool(
        &self,
        request: ModelRequest,
    ) -> Result<(Admission, Search), ReplyError> {
        let admission = self.pool.admit(&request.tenant).await;
        let admission = admission.map_err(unavailable)?;
        let (tenant, agent) = (&request.tenant, &request.agent);
        let entry = self.cache.get_or_compile(tenant, agent, &admission).await;
        let search = search(&*entry.map_err(unavailable)?, request)?;
        Ok((admission, search))
    }
}

#[async_trait]
impl ReplyEngine for RuleReplyEngine {
    fn is_immediate(&self) -> bool {
        true
    }

    async fn prepare(&self, tenant: &TenantId, agent: &Arc<Agent>) -> Result<(), PrepareError> {
        let entry = match self.cache.get(tenant, agent) {
            Some(entry) => Ok(entry),
            None => match self.pool.admit(tenant).await {
                Ok(admission) => self.cache.get_or_compile(tenant, agent, &admission).await,
                Err(error) => Err(error),
            },
        };
        match entry {
            Ok(entry) => match entry.outcome() {
                Ok(_) => Ok(()),
                Err(faults) => Err(PrepareError::Invalid(faults.to_vec())),
            },
            Err(PoolError::Overloaded) => Err(PrepareError::Overloaded),
            // The process is stopping: whether the rules are valid is unknown.
            Err(PoolError::Unfinished(_)) => Ok(()),
        }
    }

    async fn request(&self, request: ModelRequest) -> Result<ModelStream, ReplyError> {
        let request = with_own_message(request);
        let message = Arc::clone(&request.message);
        let answer = match self.answer_inline(request) {
            ControlFlow::Break(answer) => answer,
            ControlFlow::Continue(request) => self.answer_on_pool(request).await,
        };
        answer.map(|answer| into_stream(answer, &message))
    }

    async fn test_rules(&self, request: ModelRequest) -> Result<Option<RuleTest>, ReplyError> {
        let (admission, search) = self.search_on_pool(request).await?;
        let mut search = search.recording();
        let test = admission
            .run(move |slice| {
                let found = search.advance(slice);
                found.map(|found| match found {
                    Ok(found) => Ok(Some(report(&search, found.as_ref()))),
                    Err(SearchTimeout) => Err(ReplyError::TimedOut),
                })
            })
            .await;
        test.map_err(unavailable)?
    }
}

fn search(entry: &Entry, request: ModelRequest) -> Result<Search, ReplyError> {
    let rules = entry.outcome().map_err(invalid_rules)?;
    Ok(Search::new(Arc::clone(rules), request))
}

fn advance(search: &mut Search, slice: TimeSlice) -> Poll<Result<Answer, ReplyError>> {
    search.advance(slice).map(|found| match found {
        Ok(found) => Ok(answer(search, found.as_ref())),
        Err(SearchTimeout) => Err(ReplyError::TimedOut),
    })
}

/// Returns the request with the message for which a rule has called its tool: a turn that reports the outcome
/// of a call has none of its own.
fn with_own_message(request: ModelRequest) -> ModelRequest {
    let state = request
        .steps
        .first()
        .and_then(|step| step.response.state.as_ref());
    match state.and_then(Value::as_str).map(Arc::from) {
        Some(message) => ModelRequest { message, ..request },
        None => request,
    }
}

/// Streams a reply as one delta, or none if it is empty, or a call; and the end. A call keeps its message.
fn into_stream(answer: Answer, message: &str) -> ModelStream {
    let (chunk, finish_reason, state) = match answer {
        Answer::Reply(reply) => {
            let finish_reason = reply.finish_reason();
            let delta = (!reply.text.is_empty()).then_some(ModelChunk::Text(reply.text));
            (delta, finish_reason, None)
        }
        Answer::Call(call) => (
            Some(ModelChunk::ToolCall(call)),
            FinishReason::Stop,
            Some(message.into()),
        ),
    };
    let end = ModelChunk::End {
        finish_reason,
        usage: None,
        model: None,
        state,
    };
    stream::iter(chunk.into_iter().chain([end]).map(Ok)).boxed()
}

fn unavailable(error: PoolError) -> ReplyError {
    match error {
        PoolError::Overloaded => ReplyError::Overloaded,
        PoolError::Unfinished(_) => ReplyError::Unavailable(error.into()),
    }
}

fn invalid_rules(faults: &[InputFault]) -> ReplyError {
    let (pointer, detail) = faults.first().map_or_else(Default::default, |fault| {
        (fault.pointer.clone(), fault.detail.clone())
    });
    ReplyError::Rejected(InvalidRules { pointer, detail }.into())
}
