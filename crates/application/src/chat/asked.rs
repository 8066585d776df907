//! A message that was taken, and the forms in which its answer can be had.

use std::sync::{Arc, Weak};

use domain::{ConversationId, TurnId};
use ports::TurnRepository;

use super::{
    command::Chatted,
    error::ChatError,
    followed::FollowedTurn,
    live_turn::{LiveTurn, StartedTurn, TurnOutcome, TurnSubject},
    signals::TurnSignals,
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
    /// It was answered at once.
    Answered(Box<AnsweredTurn>),
    /// It is under way, waits, or had ended before.
    Followed(FollowedTurn),
}

/// A turn that was answered at once.
pub(super) struct AnsweredTurn {
    pub(super) subject: TurnSubject,
    pub(super) started: StartedTurn,
    pub(super) chatted: Chatted,
    pub(super) turns: Arc<dyn TurnRepository>,
}

impl Asked {
    pub(super) fn answered(answered: AnsweredTurn) -> Self {
        Self {
            turn_id: answered.started.turn_id,
            conversation_id: answered.started.conversation_id,
            is_replayed: false,
            turn: AskedTurn::Answered(Box::new(answered)),
        }
    }

    pub(super) fn followed(followed: FollowedTurn, is_replayed: bool) -> Self {
        let subject = followed.live.subject();
        Self {
            turn_id: subject.turn_id,
            conversation_id: subject.conversation_id,
            is_replayed,
            turn: AskedTurn::Followed(followed),
        }
    }

    /// Waits for the whole reply.
    pub async fn reply(self) -> Result<Chatted, ChatError> {
        let mut followed = match self.turn {
            AskedTurn::Answered(answered) => return Ok(answered.chatted),
            AskedTurn::Followed(followed) => followed,
        };
        loop {
            let outcome = followed.live.progress().outcome.clone();
            match outcome {
                Some(TurnOutcome::Completed(chatted)) => return Ok(chatted),
                Some(TurnOutcome::Failed(failure)) => return Err(ChatError::Failed(failure)),
                Some(TurnOutcome::Cancelled) => return Err(ChatError::Cancelled),
                None => followed.changed().await?,
            }
        }
    }

    /// What happens in the turn, from its beginning, as it happens.
    pub fn signals(self) -> TurnSignals {
        TurnSignals::new(match self.turn {
            AskedTurn::Followed(followed) => followed,
            AskedTurn::Answered(answered) => answered.followed(),
        })
    }
}

impl AnsweredTurn {
    fn followed(self) -> FollowedTurn {
        let live = LiveTurn::new(self.subject, Weak::new());
        live.started(self.started);
        let text = self.chatted.reply.message.clone();
        live.progress().said.text = text;
        live.end(TurnOutcome::Completed(self.chatted));
        FollowedTurn::new(Arc::new(live), self.turns)
    }
}
