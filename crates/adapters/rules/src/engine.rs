//! The engine: the port's promises kept with rule books, searches and answers.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use domain::{Agent, Fault, FinishReason, TenantId};
use futures::{StreamExt as _, stream};
use ports::{ReplyChunk, ReplyEngine, ReplyError, ReplyRequest, ReplyStream};

use crate::{
    answer::answer,
    cache::RuleBooks,
    deltas::Deltas,
    search::{Match, Progress, Search},
    template::Answer,
    workbench::{Interrupted, Workbench},
};

/// Longest message, in bytes, that is searched on the async thread: on it, one rule of the worst
/// kind takes some ten milliseconds.
const INLINE_MESSAGE_BYTES: usize = 4 * 1024;
/// How long a search may take on the async thread. Ordinary rules are through in a tenth of it.
const INLINE_SLICE: Duration = Duration::from_millis(1);
/// How long a search may hold a place of the workbench at a time.
const WORKBENCH_SLICE: Duration = Duration::from_millis(10);

/// The rule engine. Answers at once and from the request alone.
#[derive(Debug)]
pub struct RuleReplyEngine {
    books: RuleBooks,
    workbench: Arc<Workbench>,
}

/// The agent's stored rules are not such that this engine accepts.
#[derive(Debug, thiserror::Error)]
#[error("{pointer}: {detail}")]
struct UnusableRules {
    pointer: String,
    detail: String,
}

impl RuleReplyEngine {
    /// An engine with an empty cache; one serves all tenants.
    pub fn new() -> Self {
        let workbench = Arc::new(Workbench::new());
        Self {
            books: RuleBooks::new(Arc::clone(&workbench)),
            workbench,
        }
    }

    /// Searches a little on this thread and goes on at the workbench, slice by slice, so that a
    /// caller who gives up ends the search.
    async fn search(&self, mut search: Search) -> Result<(Search, Option<Match>), Interrupted> {
        let mut progress = Progress::Paused;
        if search.request.message.len() <= INLINE_MESSAGE_BYTES {
            progress = search.advance(INLINE_SLICE);
        }
        loop {
            match progress {
                Progress::Found(found) => return Ok((search, Some(found))),
                Progress::Nothing => return Ok((search, None)),
                Progress::Paused => {}
            }
            let slice = move || {
                let progress = search.advance(WORKBENCH_SLICE);
                (search, progress)
            };
            (search, progress) = self.workbench.run(slice).await?;
        }
    }
}

impl Default for RuleReplyEngine {
    fn default() -> Self {
        Self::new()
    }
}

#[async_trait]
impl ReplyEngine for RuleReplyEngine {
    fn is_immediate(&self) -> bool {
        true
    }

    async fn prepare(&self, tenant: &TenantId, agent: &Arc<Agent>) -> Result<(), Vec<Fault>> {
        match self.books.of(tenant, agent).await {
            Ok(entry) => entry.outcome().map(drop).map_err(<[Fault]>::to_vec),
            // The process is stopping, and nothing is known against the rules.
            Err(_interrupted) => Ok(()),
        }
    }

    async fn reply(&self, request: ReplyRequest) -> Result<ReplyStream, ReplyError> {
        let entry = self.books.of(&request.tenant, &request.agent).await;
        let entry = entry.map_err(unavailable)?;
        let book = entry.outcome().map_err(refused)?;
        let search = Search::new(Arc::clone(book), request);
        let (search, found) = self.search(search).await.map_err(unavailable)?;
        Ok(stream_of(answer(&search, found.as_ref())))
    }
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

fn unavailable(interrupted: Interrupted) -> ReplyError {
    ReplyError::Unavailable(interrupted.into())
}

fn refused(faults: &[Fault]) -> ReplyError {
    let (pointer, detail) = faults.first().map_or_else(Default::default, |fault| {
        (fault.pointer.clone(), fault.detail.clone())
    });
    ReplyError::Refused(UnusableRules { pointer, detail }.into())
}
