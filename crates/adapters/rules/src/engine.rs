//! The engine: the port's promises kept with rule books, searches and answers.

use std::{io, ops::ControlFlow, sync::Arc, task::Poll, time::Duration};

use async_trait::async_trait;
use cpu_pool::{CpuPool, PoolError, Slice};
use domain::{Agent, Fault, FinishReason, TenantId};
use futures::{StreamExt as _, stream};
use ports::{PrepareError, ReplyChunk, ReplyEngine, ReplyError, ReplyRequest, ReplyStream};

use crate::{
    answer::answer,
    cache::{Entry, RuleBooks},
    deltas::Deltas,
    search::{Search, TooMuchWork},
    template::Answer,
};

/// Longest message, in bytes, that is searched on the async thread: what takes time and cannot
/// pause, such as finding its words, takes less than a millisecond.
const INLINE_MESSAGE_BYTES: usize = 4 * 1024;
/// How long a search may take on the async thread. Ordinary rules are through in a tenth of it.
const INLINE_SLICE: Duration = Duration::from_millis(1);

/// The rule engine. Answers at once and from the request alone.
#[derive(Debug)]
pub struct RuleReplyEngine {
    books: RuleBooks,
    pool: Arc<CpuPool>,
}

/// The agent's stored rules are not such that this engine accepts.
#[derive(Debug, thiserror::Error)]
#[error("{pointer}: {detail}")]
struct UnusableRules {
    pointer: String,
    detail: String,
}

impl RuleReplyEngine {
    /// Starts an engine with an empty cache; one serves all tenants.
    pub fn new() -> io::Result<Self> {
        Ok(Self {
            books: RuleBooks::new(),
            pool: CpuPool::start()?,
        })
    }

    /// Answers on this thread if that is quick; otherwise continues with the request.
    fn answer_inline(
        &self,
        request: ReplyRequest,
    ) -> ControlFlow<Result<Answer, ReplyError>, ReplyRequest> {
        if request.message.len() > INLINE_MESSAGE_BYTES {
            return ControlFlow::Continue(request);
        }
        let Some(entry) = self.books.get(&request.tenant, &request.agent) else {
            return ControlFlow::Continue(request);
        };
        let mut search = match search(&entry, request) {
            Ok(search) => search,
            Err(refused) => return ControlFlow::Break(Err(refused)),
        };
        match advance(&mut search, Slice::new(INLINE_SLICE)) {
            Poll::Ready(answer) => ControlFlow::Break(answer),
            Poll::Pending => ControlFlow::Continue(search.request),
        }
    }

    /// Answers on the pool. A request that waits for its turn there holds no book.
    async fn answer_on_pool(&self, request: ReplyRequest) -> Result<Answer, ReplyError> {
        let admission = self.pool.admit(&request.tenant).await;
        let admission = admission.map_err(unavailable)?;
        let (tenant, agent) = (&request.tenant, &request.agent);
        let entry = self.books.get_or_compile(tenant, agent, &admission).await;
        let entry = entry.map_err(unavailable)?;
        let mut search = search(&entry, request)?;
        drop(entry);
        let answer = admission
            .run(move |slice| advance(&mut search, slice))
            .await;
        answer.map_err(unavailable)?
    }
}

#[async_trait]
impl ReplyEngine for RuleReplyEngine {
    fn is_immediate(&self) -> bool {
        true
    }

    async fn prepare(&self, tenant: &TenantId, agent: &Arc<Agent>) -> Result<(), PrepareError> {
        let entry = match self.books.get(tenant, agent) {
            Some(entry) => Ok(entry),
            None => match self.pool.admit(tenant).await {
                Ok(admission) => self.books.get_or_compile(tenant, agent, &admission).await,
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

    async fn reply(&self, request: ReplyRequest) -> Result<ReplyStream, ReplyError> {
        let answer = match self.answer_inline(request) {
            ControlFlow::Break(answer) => answer,
            ControlFlow::Continue(request) => self.answer_on_pool(request).await,
        };
        answer.map(stream_of)
    }
}

fn search(entry: &Entry, request: ReplyRequest) -> Result<Search, ReplyError> {
    let book = entry.outcome().map_err(refused)?;
    Ok(Search::new(Arc::clone(book), request))
}

fn advance(search: &mut Search, slice: Slice) -> Poll<Result<Answer, ReplyError>> {
    search.advance(slice).map(|found| match found {
        Ok(found) => Ok(answer(search, found.as_ref())),
        Err(TooMuchWork) => Err(ReplyError::TimedOut),
    })
}

/// The answer, sentence by sentence, and the end.
fn stream_of(answer: Answer) -> ReplyStream {
    let finish_reason = if answer.is_cut {
        FinishReason::Length
    } else {
        FinishReason::Stop
    };
    let deltas = Deltas::of(answer.text).map(ReplyChunk::Delta);
    let end = ReplyChunk::End {
        finish_reason,
        usage: None,
    };
    stream::iter(deltas.chain([end]).map(Ok)).boxed()
}

fn unavailable(error: PoolError) -> ReplyError {
    match error {
        PoolError::Overloaded => ReplyError::Overloaded,
        PoolError::Unfinished(_) => ReplyError::Unavailable(error.into()),
    }
}

fn refused(faults: &[Fault]) -> ReplyError {
    let (pointer, detail) = faults.first().map_or_else(Default::default, |fault| {
        (fault.pointer.clone(), fault.detail.clone())
    });
    ReplyError::Refused(UnusableRules { pointer, detail }.into())
}
