//! The history of a turn: read before it runs, cached after it.

use std::{mem, sync::Arc};

use domain::{HistoryLimits, HistoryMessage, ModelStep, PastCalls, Role, User};
use ports::{HistoryQuery, RepositoryError};

use super::{RunningTask, TurnTask};
use crate::pauses::Pauses;

/// The input of the engine besides the message.
pub(super) struct ReadForReply {
    window: Vec<HistoryMessage>,
    context: Option<Arc<str>>,
    user: Option<Arc<User>>,
}

impl RunningTask<'_> {
    /// Returns the history; `None` if the turn is stopped. A turn that is resumed, and may have acted, waits for
    /// it however long the store is unavailable; the sender of any other turn learns at once that it is.
    pub(super) async fn history_for_reply(&self) -> Option<Result<ReadForReply, RepositoryError>> {
        let mut pauses = Pauses::default();
        let live = &self.task.ownership.live;
        loop {
            match self.read_for_reply().await {
                Err(error) if error.is_retryable() && !self.task.journal.is_empty() => {
                    tracing::warn!(
                        error = ports::error::one_line(&error),
                        turn = %live.subject().turn_id,
                        "cannot read the history of a resumed turn; retrying"
                    );
                    live.stopped().run_until_cancelled(pauses.wait()).await?;
                }
                read => return Some(read),
            }
        }
    }

    async fn read_for_reply(&self) -> Result<ReadForReply, RepositoryError> {
        let (ports, request) = (&self.context.ports, &self.task.request);
        let context = ports
            .conversations
            .find_context(&request.tenant, self.conversation());
        let user = ports.find_user(&request.tenant, request.user_id.as_deref());
        let (window, context, user) = tokio::try_join!(self.history(), context, user)?;
        Ok(ReadForReply {
            window,
            context: context.value,
            user,
        })
    }

    /// Returns the messages before the user's message, from the cache if possible.
    async fn history(&self) -> Result<Vec<HistoryMessage>, RepositoryError> {
        let TurnTask {
            request, messages, ..
        } = &*self.task;
        let query = HistoryQuery {
            before: messages.message.seq,
            limits: self.limits(),
        };
        let (tenant, conversation) = (&request.tenant, self.conversation());
        let histories = &self.context.histories;
        if self.task.has_cached_history
            && let Some(history) =
                histories.take(tenant, conversation, messages.turn_number, &query)
        {
            return Ok(history);
        }
        let conversations = &self.context.ports.conversations;
        conversations.history(tenant, conversation, &query).await
    }

    /// Gives the engine what was read, and of the history what fits its limits.
    pub(super) fn set_history(&mut self, read: ReadForReply) {
        let limits = self.limits();
        let TurnTask {
            request, messages, ..
        } = &mut *self.task;
        let mut window = read.window;
        request.context = read.context;
        request.user = read.user;
        let before = messages.message.seq;
        if let Some(calls) = window.pop_if(|last| last.seq >= before) {
            let calls = calls.calls.map(|calls| calls.steps.clone());
            request.earlier_steps = calls.unwrap_or_default();
        }
        match limits.in_steps(&window) {
            Some(fitting) => {
                request.history = Arc::new(fitting);
                self.task.window = Some(window);
            }
            None => request.history = Arc::new(window),
        }
    }

    fn limits(&self) -> HistoryLimits {
        let config = &self.task.request.agent.config;
        config.history.clone().unwrap_or_default()
    }

    /// Caches the history for the next turn. `steps` are the calls for the reply.
    pub(super) fn cache_history(&mut self, reply: &str, steps: &[Arc<ModelStep>]) {
        let (conversation, limits) = (self.conversation(), self.limits());
        let TurnTask {
            request,
            messages,
            window,
            started,
            is_instructed,
            ..
        } = &mut *self.task;
        let history = || Arc::unwrap_or_clone(mem::take(&mut request.history));
        let mut history = window.take().unwrap_or_else(history);
        if !*is_instructed && started.continues.is_none() {
            let (seq, text) = (messages.message.seq, &*request.message);
            history.push(HistoryMessage {
                files: request.files.clone(),
                ..HistoryMessage::new(seq, Role::User, text)
            });
        }
        let own = if limits.has_tool_results() {
            steps
        } else {
            &[]
        };
        let calls = PastCalls::of_reply(own, reply).after(&request.earlier_steps);
        history.push(HistoryMessage {
            calls: calls.map(Arc::new),
            ..HistoryMessage::new(messages.reply_seq, Role::Agent, reply)
        });
        let query = HistoryQuery {
            before: messages.reply_seq + 1,
            limits,
        };
        let histories = &self.context.histories;
        let next_turn = messages.turn_number + 1;
        histories.keep(&request.tenant, conversation, next_turn, query, history);
    }
}
