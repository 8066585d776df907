//! A message that was taken, and the forms in which its answer can be had.

use std::sync::{Arc, Weak};

use domain::{ConversationId, NodeId, ToolCall, Turn, TurnId};
use ports::{Exchange, TurnRepository};

use super::{
    command::Chatted,
    error::ChatError,
    followed::FollowedTurn,
    live_turn::{LiveTurn, TurnOutcome},
    place::{Place, Question, begin_turn, started_turn, subject},
    signals::TurnSignals,
    written::stored_reply,
};

/// A message that was taken: its turn is stored.
pub struct Asked {
    /// The turn.
    pub turn_id: TurnId,
    /// Its conversation.
    pub conversation_id: ConversationId,
    /// Whether an earlier request with the same idempotency key began it.
    pub is_replayed: bool,
    turn: AskedTurn,
}

enum AskedTurn {
    Answered(Box<AnsweredTurn>),
    Taken(Box<TakenTurn>),
    /// Of a replay: as it was found, unless it is known from this process alone.
    Repeated(FollowedTurn, Option<Box<Turn>>),
}

/// A turn that was answered at once. What only some callers ask for is made when they do.
pub(super) struct AnsweredTurn {
    pub(super) question: Arc<Question>,
    pub(super) at: Arc<Place>,
    pub(super) node: NodeId,
    /// `seq` of the user's message.
    pub(super) message_seq: i64,
    pub(super) chatted: Chatted,
    /// What the reply does not say of the tools that were called for it.
    pub(super) tool_calls: Vec<ToolCall>,
    pub(super) turns: Arc<dyn TurnRepository>,
}

/// A turn that this question began, or that waits. What only some callers ask for is made when
/// they do.
pub(super) struct TakenTurn {
    pub(super) question: Arc<Question>,
    pub(super) at: Arc<Place>,
    pub(super) node: NodeId,
    pub(super) is_queued: bool,
    pub(super) followed: FollowedTurn,
}

impl Asked {
    pub(super) fn answered(answered: AnsweredTurn) -> Self {
        Self {
            turn_id: answered.question.turn_id,
            conversation_id: answered.at.target.id(),
            is_replayed: false,
            turn: AskedTurn::Answered(Box::new(answered)),
        }
    }

    pub(super) fn taken(taken: TakenTurn) -> Self {
        Self {
            turn_id: taken.question.turn_id,
            conversation_id: taken.at.target.id(),
            is_replayed: false,
            turn: AskedTurn::Taken(Box::new(taken)),
        }
    }

    /// A turn that another request began; `found` as it was read just now, if it was.
    pub(super) fn repeated(followed: FollowedTurn, found: Option<Turn>) -> Self {
        let subject = followed.live.subject();
        Self {
            turn_id: subject.turn_id,
            conversation_id: subject.conversation_id,
            is_replayed: true,
            turn: AskedTurn::Repeated(followed, found.map(Box::new)),
        }
    }

    /// The turn as this request stored or found it. None when another request began it and only
    /// the store knows how it stands.
    pub fn into_turn(self) -> Option<Turn> {
        match self.turn {
            AskedTurn::Answered(answered) => Some(answered.turn()),
            AskedTurn::Taken(taken) => Some(taken.turn()),
            AskedTurn::Repeated(_, found) => found.map(|found| *found),
        }
    }

    /// Waits for the whole reply.
    pub async fn reply(self) -> Result<Chatted, ChatError> {
        let mut followed = match self.turn {
            AskedTurn::Answered(answered) => return Ok(answered.chatted),
            AskedTurn::Taken(taken) => taken.followed,
            AskedTurn::Repeated(followed, _) => followed,
        };
        loop {
            let outcome = followed.live.progress().outcome.clone();
            match outcome {
                Some(TurnOutcome::Completed(chatted)) => return Ok(chatted),
                Some(TurnOutcome::Failed(problem)) => return Err(ChatError::Failed(problem)),
                Some(TurnOutcome::Cancelled) => return Err(ChatError::Cancelled),
                None => followed.changed().await?,
            }
        }
    }

    /// What happens in the turn, from its beginning, as it happens.
    pub fn signals(self) -> TurnSignals {
        TurnSignals::new(match self.turn {
            AskedTurn::Answered(answered) => answered.followed(),
            AskedTurn::Taken(taken) => taken.followed,
            AskedTurn::Repeated(followed, _) => followed,
        })
    }
}

impl AnsweredTurn {
    fn turn(self) -> Turn {
        let finished_at = self.chatted.reply.created_at;
        let exchange = Exchange {
            question: begin_turn(&self.question, &self.at, self.node),
            reply: stored_reply(self.chatted.reply, self.tool_calls),
            finished_at,
        };
        exchange.turn(self.message_seq)
    }

    fn followed(self) -> FollowedTurn {
        let live = LiveTurn::new(subject(&self.question, &self.at), Weak::new());
        live.started(started_turn(&self.question, &self.at));
        let text = self.chatted.reply.message.clone();
        live.progress().said.text = text;
        live.end(TurnOutcome::Completed(self.chatted));
        FollowedTurn::new(Arc::new(live), self.turns)
    }
}

impl TakenTurn {
    fn turn(&self) -> Turn {
        let begin = begin_turn(&self.question, &self.at, self.node);
        if self.is_queued {
            begin.queued()
        } else {
            begin.started()
        }
    }
}
