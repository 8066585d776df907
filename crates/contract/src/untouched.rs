//! Proving that a refused write wrote nothing.

use domain::{Conversation, ConversationHead, Seq};
use ports::{BeginTurn, Storage};

use crate::{answers::Answer as _, found, log, samples};

/// How a store stood before a turn of the samples' tenant was asked for.
#[derive(Debug)]
pub(crate) struct Before {
    head: Seq,
    conversation: Option<Conversation>,
    conversation_head: Option<ConversationHead>,
}

impl Before {
    /// How the store stands.
    pub(crate) async fn of(storage: &Storage, question: &BeginTurn) -> Self {
        let (tenant, id) = (samples::tenant(), question.target.id());
        let head = storage.conversations.find_head(&tenant, id).await;
        Self {
            head: log::head(storage, &tenant).await,
            conversation: found::conversation(storage, id).await,
            conversation_head: head.answered().value.map(|head| (*head).clone()),
        }
    }

    /// Fails if anything of `question` is in the store; its claim aside.
    pub(crate) async fn assert_untouched_by(&self, storage: &Storage, question: &BeginTurn) {
        let now = Self::of(storage, question).await;
        assert_eq!(now.head, self.head, "an event was written");
        assert_eq!(now.conversation, self.conversation);
        assert_eq!(now.conversation_head, self.conversation_head);
        let turn = found::turn(storage, question.turn_id).await;
        assert_eq!(turn, None, "the turn was written");
        if let Some(conversation) = &self.conversation {
            let messages = found::messages(storage, conversation.id).await;
            assert!(
                messages
                    .iter()
                    .all(|message| message.turn_id != Some(question.turn_id))
            );
        }
    }

    /// Fails if anything of `question` is in the store, or its claim.
    pub(crate) async fn assert_no_trace_of(&self, storage: &Storage, question: &BeginTurn) {
        self.assert_untouched_by(storage, question).await;
        if let Some(claim) = &question.claim {
            let record = found::claim(storage, claim).await;
            assert_eq!(record, None, "the claim was written");
        }
    }
}
