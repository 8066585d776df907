//! The events of one turn, as its caller receives them.

use domain::{Audience, ChatReply, TurnEvent, TurnFailed, TurnPlace, TurnRequiresAction};
use ports::RepositoryError;
use tokio_util::sync::DropGuard;

use super::{
    progress::TurnOutcome, reply_cursor::ReplyCursor, reply_readers::ReaderGuard,
    turn_waiter::TurnWaiter,
};

/// The events of a turn, each once. Text that arrives between two calls of `next` is returned as
/// one piece, so that nothing is buffered for a slow reader.
pub struct TurnEventStream {
    turn: TurnWaiter,
    delivered: Delivered,
    /// The audience for which tool calls are shown.
    audience: Audience,
    /// Stops a turn that is not stored.
    _guard: Option<DropGuard>,
    /// Makes the node that runs the turn send its reply.
    _followed: Option<ReaderGuard>,
}

/// The events that were already returned.
#[derive(Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is one event")]
struct Delivered {
    queued: bool,
    started: bool,
    /// True unless the stream begins with `turn.resumed`, which was not returned yet.
    resumed: bool,
    reply: ReplyCursor,
    ended: bool,
}

impl TurnEventStream {
    pub(crate) fn new(turn: TurnWaiter, audience: Audience, guard: Option<DropGuard>) -> Self {
        turn.follow_reply();
        Self {
            _followed: turn.live.follow_if_remote(),
            turn,
            delivered: Delivered {
                resumed: true,
                ..Delivered::default()
            },
            audience,
            _guard: guard,
        }
    }

    /// Returns the events of a turn that goes on: `turn.resumed`, and then only what follows the reply so
    /// far.
    pub(crate) fn continued(mut self) -> Self {
        let progress = self.turn.live.progress();
        self.delivered = Delivered {
            queued: true,
            started: true,
            resumed: false,
            reply: ReplyCursor::continuing(&progress),
            ended: false,
        };
        drop(progress);
        self
    }

    /// Returns whether this process runs the turn.
    pub fn runs_here(&self) -> bool {
        self.turn.live.local_node().is_some()
    }

    /// Waits for the next event; `None` after the last one.
    pub async fn next(&mut self) -> Option<Result<TurnEvent, RepositoryError>> {
        loop {
            if self.delivered.ended {
                return None;
            }
            if let Some(event) = self.next_ready() {
                return Some(Ok(event));
            }
            if let Err(error) = self.turn.changed().await {
                self.delivered.ended = true;
                return Some(Err(error));
            }
        }
    }

    /// Returns the next event if it has happened already.
    pub fn next_ready(&mut self) -> Option<TurnEvent> {
        if self.delivered.ended {
            return None;
        }
        let subject = self.turn.live.subject();
        let place = TurnPlace {
            turn_id: subject.turn_id,
            conversation_id: subject.stored_conversation(),
            seq: None,
        };
        let progress = self.turn.live.progress();
        let delivered = &mut self.delivered;
        // Returned even if the turn has started since.
        if progress.was_queued && !delivered.started && !delivered.queued {
            delivered.queued = true;
            return Some(TurnEvent::Queued(place));
        }
        if let Some(started) = progress.started.as_ref().filter(|_| !delivered.started) {
            delivered.started = true;
            return Some(TurnEvent::Started(started.clone().shown_to(self.audience)));
        }
        if !std::mem::replace(&mut delivered.resumed, true) {
            return Some(TurnEvent::Resumed(place));
        }
        // The reply of a turn that goes on is known before it has started again.
        let has_begun = delivered.started || progress.outcome.is_some();
        if has_begun && let Some(piece) = delivered.reply.next(subject, &progress, self.audience) {
            return Some(piece.into());
        }
        let outcome = progress.outcome.as_ref()?;
        delivered.ended = true;
        Some(match outcome {
            TurnOutcome::Completed(completed) => TurnEvent::Completed(ChatReply {
                seq: completed.position,
                ..completed.reply.clone().shown_to(self.audience)
            }),
            TurnOutcome::Failed(problem) => TurnEvent::Failed(TurnFailed {
                turn_id: place.turn_id,
                conversation_id: place.conversation_id,
                error: problem.clone(),
                seq: None,
            }),
            TurnOutcome::Cancelled => TurnEvent::Cancelled(place),
            TurnOutcome::RequiresAction(waiting) => {
                let reply = waiting.reply.clone().shown_to(self.audience);
                TurnEvent::RequiresAction(TurnRequiresAction {
                    turn_id: place.turn_id,
                    conversation_id: place.conversation_id,
                    tool_calls: reply.tool_calls,
                    seq: waiting.position,
                })
            }
        })
    }
}
