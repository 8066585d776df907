//! An accepted message, and the forms in which a caller can read its reply.

use std::sync::{Arc, Weak};

use domain::{ConversationId, NodeId, ToolCall, Turn, TurnId};
use ports::{CompletedTurn, Reply, TurnPlace, TurnRepository};
use tokio_util::sync::DropGuard;

use super::{
    attempt::ChatAttempt,
    command::{ChatError, CompletedChat},
    live_turn::LiveTurn,
    live_turns::TurnSubject,
    progress::TurnOutcome,
    target::ChatTarget,
    turn_events::TurnEventStream,
    turn_waiter::TurnWaiter,
};
use crate::engines::PartialReply;

/// An accepted message: its turn is stored.
pub struct AcceptedTurn {
    /// The turn.
    pub turn_id: TurnId,
    /// The turn's conversation.
    pub conversation_id: ConversationId,
    /// True if an earlier request with the same idempotency key started the turn.
    pub is_replayed: bool,
    source: Source,
}

enum Source {
    Inline(Box<InlineTurn>),
    Started(Box<StartedTurn>),
    /// A turn of an earlier request, with the turn as the store returned it, if it was read.
    Replayed(TurnWaiter, Option<Box<Turn>>),
    /// A turn that is not stored, and is stopped when this is dropped.
    Ephemeral(TurnWaiter, DropGuard),
}

/// A turn that was answered inline. Its stored form and its events are built only on request.
pub(super) struct InlineTurn {
    pub(super) attempt: Arc<ChatAttempt>,
    pub(super) target: Arc<ChatTarget>,
    pub(super) node: NodeId,
    pub(super) place: TurnPlace,
    pub(super) completed: CompletedChat,
    pub(super) tool_calls: Vec<ToolCall>,
    pub(super) turns: Arc<dyn TurnRepository>,
}

/// A turn that this request started or queued.
pub(super) struct StartedTurn {
    pub(super) attempt: Arc<ChatAttempt>,
    pub(super) target: Arc<ChatTarget>,
    pub(super) node: NodeId,
    pub(super) is_queued: bool,
    pub(super) waiter: TurnWaiter,
}

impl AcceptedTurn {
    pub(super) fn inline(turn: InlineTurn) -> Self {
        Self {
            turn_id: turn.attempt.turn_id,
            conversation_id: turn.target.conversation.id(),
            is_replayed: false,
            source: Source::Inline(Box::new(turn)),
        }
    }

    pub(super) fn started(turn: StartedTurn) -> Self {
        Self {
            turn_id: turn.attempt.turn_id,
            conversation_id: turn.target.conversation.id(),
            is_replayed: false,
            source: Source::Started(Box::new(turn)),
        }
    }

    /// Creates a turn that an earlier request started; `found` is the stored turn, if it was read.
    pub(super) fn replayed(waiter: TurnWaiter, found: Option<Turn>) -> Self {
        let subject = waiter.live.subject();
        Self {
            turn_id: subject.turn_id,
            conversation_id: subject.conversation_id,
            is_replayed: true,
            source: Source::Replayed(waiter, found.map(Box::new)),
        }
    }

    /// Creates a turn that is not stored, and is stopped when `guard` is dropped.
    pub(super) fn ephemeral(waiter: TurnWaiter, guard: DropGuard) -> Self {
        let subject = waiter.live.subject();
        Self {
            turn_id: subject.turn_id,
            conversation_id: subject.conversation_id,
            is_replayed: false,
            source: Source::Ephemeral(waiter, guard),
        }
    }

    /// Returns the ids of the turn and of its owners.
    pub fn subject(&self) -> TurnSubject {
        match &self.source {
            Source::Inline(turn) => turn.attempt.turn_subject(&turn.target),
            Source::Started(turn) => turn.waiter.live.subject().clone(),
            Source::Replayed(waiter, _) | Source::Ephemeral(waiter, _) => {
                waiter.live.subject().clone()
            }
        }
    }

    /// Returns the turn as this request stored or read it; `None` if it must be read from the
    /// store.
    pub fn into_turn(self) -> Option<Turn> {
        match self.source {
            Source::Inline(turn) => Some(turn.into_turn()),
            Source::Started(turn) => Some(turn.turn()),
            Source::Replayed(_, found) => found.map(|found| *found),
            Source::Ephemeral(..) => None,
        }
    }

    /// Waits for the complete reply.
    pub async fn reply(self) -> Result<CompletedChat, ChatError> {
        let (mut waiter, _guard) = match self.source {
            Source::Inline(turn) => return Ok(turn.completed),
            Source::Started(turn) => (turn.waiter, None),
            Source::Replayed(waiter, _) => (waiter, None),
            Source::Ephemeral(waiter, guard) => (waiter, Some(guard)),
        };
        loop {
            let outcome = waiter.live.progress().outcome.clone();
            match outcome {
                Some(TurnOutcome::Completed(completed)) => return Ok(completed),
                Some(TurnOutcome::Failed(problem)) => return Err(ChatError::Failed(problem)),
                Some(TurnOutcome::Cancelled) => return Err(ChatError::Cancelled),
                None => waiter.changed().await?,
            }
        }
    }

    /// Returns the events of the turn from its beginning, as they happen.
    pub fn events(self) -> TurnEventStream {
        let (waiter, guard) = match self.source {
            Source::Inline(turn) => (turn.into_waiter(), None),
            Source::Started(turn) => (turn.waiter, None),
            Source::Replayed(waiter, _) => (waiter, None),
            Source::Ephemeral(waiter, guard) => (waiter, Some(guard)),
        };
        TurnEventStream::new(waiter, guard)
    }
}

impl InlineTurn {
    fn into_turn(self) -> Turn {
        let finished_at = self.completed.reply.created_at;
        let completed = CompletedTurn {
            begin: self.attempt.begin_turn(&self.target, self.node),
            reply: Reply::from_chat_reply(self.completed.reply, self.tool_calls),
            finished_at,
        };
        completed.turn(&self.place)
    }

    fn into_waiter(self) -> TurnWaiter {
        let live = LiveTurn::new(self.attempt.turn_subject(&self.target), Weak::new());
        let started = self
            .attempt
            .turn_started(&self.target, self.place.message.id);
        live.mark_started(started);
        let text = self.completed.reply.message.clone();
        live.progress().reply = PartialReply::restored(text, self.tool_calls);
        live.end(TurnOutcome::Completed(self.completed));
        TurnWaiter::new(Arc::new(live), self.turns)
    }
}

impl StartedTurn {
    fn turn(&self) -> Turn {
        let begin = self.attempt.begin_turn(&self.target, self.node);
        if self.is_queued {
            begin.queued()
        } else {
            begin.started()
        }
    }
}
