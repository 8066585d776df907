//! A reply as a stream of chunks.
//!
//! These clients take every stream that ends cleanly for a whole reply, with or without `[DONE]`.
//! So a stream ends with the chunks of the end of a reply or with the data of an error.

use std::{collections::VecDeque, time::Duration};

use access::CredentialEnd;
use application::{
    ChatError,
    live_turns::{ReplyPiece, TurnEvent, TurnEventStream},
};
use domain::{Problem, ProblemCode};
use futures::{Stream, stream};
use kit::{
    problem::{ApiError, store_problem},
    sse::Event,
};
use ports::RepositoryError;
use tokio::time::{Instant, timeout_at};

use super::{error::ErrorData, response::Chunks};

/// The time for which the response is delayed until there is text, so that a failure before is
/// reported by its status: then clients can repeat the request.
const MAX_STATUS_DELAY: Duration = Duration::from_millis(500);

/// A streamed reply.
pub(super) struct ReplyStream {
    events: TurnEventStream,
    chunks: Chunks,
    request_id: Option<String>,
    unsent: VecDeque<Event>,
    has_ended: bool,
}

impl ReplyStream {
    /// Waits a short time for the first text, and returns the error of a turn that fails before.
    pub(super) async fn begin(
        events: TurnEventStream,
        chunks: Chunks,
        request_id: Option<String>,
    ) -> Result<Self, ApiError> {
        let mut begun = Self {
            events,
            chunks,
            request_id,
            unsent: VecDeque::new(),
            has_ended: false,
        };
        let until = Instant::now() + MAX_STATUS_DELAY;
        while let Ok(Some(event)) = timeout_at(until, begun.events.next()).await {
            match event? {
                TurnEvent::Failed { error, .. } => return Err(ChatError::Failed(error).into()),
                TurnEvent::Cancelled { .. } => return Err(ChatError::Cancelled.into()),
                event => begun.apply(Ok(event)),
            }
            if begun.has_ended || begun.has_text() {
                break;
            }
        }
        Ok(begun)
    }

    /// Returns the data of the stream. If the credential ends before the turn, the last of it is an
    /// error.
    pub(super) fn data(
        self,
        credential_end: impl Future<Output = CredentialEnd> + 'static,
    ) -> impl Stream<Item = Event> {
        let credential_end = Box::pin(credential_end);
        stream::unfold((self, credential_end), async |(mut reply, mut end)| {
            let event = tokio::select! {
                biased;
                event = reply.next() => event?,
                reason = &mut end => {
                    reply.fail(Problem::new(reason.into()));
                    reply.unsent.pop_front()?
                }
            };
            Some((event, (reply, end)))
        })
    }

    /// Waits for the next data; `None` at the end.
    async fn next(&mut self) -> Option<Event> {
        while self.unsent.is_empty() && !self.has_ended {
            match self.events.next().await {
                Some(event) => self.apply(event),
                None => self.has_ended = true,
            }
        }
        self.unsent.pop_front()
    }

    /// Returns whether there is data after the first chunk.
    fn has_text(&self) -> bool {
        self.unsent.len() > 1
    }

    fn apply(&mut self, event: Result<TurnEvent, RepositoryError>) {
        match event {
            Ok(TurnEvent::Started(_)) => {
                let first = Event::json(&self.chunks.first());
                self.unsent.push_back(first);
            }
            Ok(TurnEvent::Reply(ReplyPiece::Delta(delta))) => {
                let text = Event::json(&self.chunks.text(&delta.text));
                self.unsent.push_back(text);
            }
            // Agents call their tools themselves.
            Ok(TurnEvent::Queued { .. } | TurnEvent::Reply(_)) => {}
            Ok(TurnEvent::Completed(reply)) => {
                let last = Event::json(&self.chunks.last(reply.finish_reason));
                let usage = self.chunks.usage(reply.usage).as_ref().map(Event::json);
                self.unsent.extend([last].into_iter().chain(usage));
                self.unsent.push_back(Event::done());
                self.has_ended = true;
            }
            Ok(TurnEvent::Failed { error, .. }) => self.fail(error),
            Ok(TurnEvent::Cancelled { .. }) => self.fail(Problem::new(ProblemCode::TurnCancelled)),
            Err(error) => {
                tracing::warn!(
                    error = ports::error::one_line(&error),
                    "chat completion cannot read its turn from the store; reporting an error to the client"
                );
                self.fail(Problem::new(store_problem(&error)));
            }
        }
    }

    fn fail(&mut self, mut problem: Problem) {
        problem.request_id.clone_from(&self.request_id);
        let error = Event::json(&ErrorData::of(&problem));
        self.unsent.push_back(error);
        self.has_ended = true;
    }
}
