//! An accepted message, and the forms in which a caller can read its reply.

use std::sync::{Arc, Weak};

use domain::{Audience, ConversationId, NodeId, ToolCall, Turn, TurnId};
use ports::TurnRepository;
use tokio_util::sync::DropGuard;
use writes::{CompletedTurn, Reply, TurnMessages};

use super::{attempt::ChatAttempt, command::ChatError, target::ChatTarget};
use crate::{
    engines::PartialReply,
    live_turns::{
        CompletedChat, DraftStream, LiveTurn, TurnEventStream, TurnOutcome, TurnSubject, TurnWaiter,
    },
};

/// An accepted message: its turn is stored.
pub struct AcceptedTurn {
    /// The turn.
    pub turn_id: TurnId,
    /// The turn's conversation.
    pub conversation_id: ConversationId,
    /// True if an earlier request with the same idempotency key started the turn.
    pub is_replayed: bool,
    source: Source,
    /// The audience for which tool calls are shown.
    audience: Audience,
    /// Stops a turn that is not stored when it is dropped.
    guard: Option<DropGuard>,
    /// True if the events begin where the turn goes on after an answer.
    is_continued: bool,
}

enum Source {
    Inline(Box<InlineTurn>),
    Started(Box<StartedTurn>),
    /// A turn of an earlier request or one that is not stored, with the turn as the store returned
    /// it, if it was read.
    Followed(TurnWaiter, Option<Box<Turn>>),
}

/// A turn that was answered inline. Its stored form and its events are built only on request.
pub(super) struct InlineTurn {
    pub(super) attempt: Arc<ChatAttempt>,
    pub(super) target: Arc<ChatTarget>,
    pub(super) node: NodeId,
    pub(super) messages: TurnMessages,
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
            audience: turn.attempt.audience(),
            source: Source::Inline(Box::new(turn)),
            guard: None,
            is_continued: false,
        }
    }

    pub(super) fn started(turn: StartedTurn) -> Self {
        Self {
            turn_id: turn.attempt.turn_id,
            conversation_id: turn.target.conversation.id(),
            is_replayed: false,
            audience: turn.attempt.audience(),
            source: Source::Started(Box::new(turn)),
            guard: None,
            is_continued: false,
        }
    }

    /// Creates a turn that an earlier request started; `found` is the stored turn, if it was read.
    pub(crate) fn replayed(waiter: TurnWaiter, found: Option<Turn>, audience: Audience) -> Self {
        Self {
            is_replayed: true,
            ..Self::followed(waiter, found, audience)
        }
    }

    /// Returns the turn as it is shown to this audience.
    #[must_use]
    pub(super) fn shown_to(self, audience: Audience) -> Self {
        Self { audience, ..self }
    }

    /// Creates a turn that goes on after an answer to one of its tool calls.
    pub(crate) fn continued(waiter: TurnWaiter, audience: Audience) -> Self {
        Self {
            is_continued: true,
            ..Self::followed(waiter, None, audience)
        }
    }

    /// Creates a turn that is not stored.
    pub(super) fn ephemeral(waiter: TurnWaiter, audience: Audience) -> Self {
        Self::followed(waiter, None, audience)
    }

    /// Stops a turn that is not stored when `guard` is dropped.
    #[must_use]
    pub(super) fn guarded_by(self, guard: DropGuard) -> Self {
        Self {
            guard: Some(guard),
            ..self
        }
    }

    fn followed(waiter: TurnWaiter, found: Option<Turn>, audience: Audience) -> Self {
        let subject = waiter.live.subject();
        Self {
            turn_id: subject.turn_id,
            conversation_id: subject.conversation_id,
            is_replayed: false,
            source: Source::Followed(waiter, found.map(Box::new)),
            audience,
            guard: None,
            is_continued: false,
        }
    }

    /// Returns the ids of the turn and of its owners.
    pub fn subject(&self) -> TurnSubject {
        match &self.source {
            Source::Inline(turn) => turn.attempt.turn_subject(&turn.target),
            Source::Started(turn) => turn.waiter.live.subject().clone(),
            Source::Followed(waiter, _) => waiter.live.subject().clone(),
        }
    }

    /// Returns for whom the turn is shown.
    pub(crate) const fn audience(&self) -> Audience {
        self.audience
    }

    /// Returns the turn as this request stored or read it; `None` if it must be read from the
    /// store.
    pub fn into_turn(self) -> Option<Turn> {
        let mut turn = match self.source {
            Source::Inline(turn) => turn.into_turn(),
            Source::Started(turn) => turn.turn(),
            Source::Followed(_, found) => *found?,
        };
        turn.show_to(self.audience);
        Some(turn)
    }

    /// Waits for the complete reply.
    pub async fn reply(self) -> Result<CompletedChat, ChatError> {
        let _guard = self.guard;
        let mut waiter = match self.source {
            Source::Inline(turn) => return Ok(turn.completed),
            Source::Started(turn) => turn.waiter,
            Source::Followed(waiter, _) => waiter,
        };
        loop {
            let outcome = waiter.live.progress().outcome.clone();
            match outcome {
                Some(TurnOutcome::Completed(chat) | TurnOutcome::RequiresAction(chat)) => {
                    let reply = chat.reply.shown_to(self.audience);
                    return Ok(CompletedChat { reply, ..chat });
                }
                Some(TurnOutcome::Failed(problem)) => return Err(ChatError::Failed(problem)),
                Some(TurnOutcome::Cancelled) => return Err(ChatError::Cancelled),
                None => waiter.changed().await?,
            }
        }
    }

    /// Returns the text of a reply by a schema, as the model writes it.
    pub fn draft(self) -> DraftStream {
        DraftStream::new(self.source.into_waiter(), self.guard)
    }

    /// Returns the events of the turn from its beginning, as they happen.
    pub fn events(self) -> TurnEventStream {
        let waiter = self.source.into_waiter();
        let events = TurnEventStream::new(waiter, self.audience, self.guard);
        if self.is_continued {
            events.continued()
        } else {
            events
        }
    }
}

impl Source {
    fn into_waiter(self) -> TurnWaiter {
        match self {
            Self::Inline(turn) => turn.into_waiter(),
            Self::Started(turn) => turn.waiter,
            Self::Followed(waiter, _) => waiter,
        }
    }
}

impl InlineTurn {
    fn into_turn(self) -> Turn {
        let finished_at = self.completed.reply.created_at;
        let (reply, id) = (self.completed.reply, self.attempt.reply_id);
        let completed = CompletedTurn {
            begin: self.attempt.begin_turn(&self.target, self.node),
            reply: Reply::from_chat_reply(reply, id, self.tool_calls),
            finished_at,
        };
        completed.turn(&self.messages)
    }

    fn into_waiter(self) -> TurnWaiter {
        let live = LiveTurn::new(self.attempt.turn_subject(&self.target), Weak::new());
        let (message_id, reply_id) = (self.messages.message.id, self.attempt.reply_id);
        let started = self
            .attempt
            .turn_started(&self.target, message_id, Some(reply_id));
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
