//! Assertions that a rejected write wrote nothing.

use domain::{Conversation, ConversationState, Seq};
use writes::BeginTurn;

use crate::{Store, fixture, log, lookup, results::ResultExt as _};

/// The state of a store before a turn of the fixture's tenant was begun.
#[derive(Debug)]
pub(crate) struct Snapshot {
    head: Seq,
    conversation: Option<Conversation>,
    state: Option<ConversationState>,
}

impl Snapshot {
    /// Reads the current state.
    pub(crate) async fn take(storage: &Store, begin: &BeginTurn) -> Self {
        let (tenant, id) = (fixture::tenant(), begin.target.id());
        let state = storage.conversations.find_state(&tenant, id).await;
        Self {
            head: log::head(storage, &tenant).await,
            conversation: lookup::conversation(storage, id).await,
            state: state.success().value.map(|state| (*state).clone()),
        }
    }

    /// Asserts that nothing of `begin` is stored, except possibly its entry.
    pub(crate) async fn assert_unchanged_by(&self, storage: &Store, begin: &BeginTurn) {
        let now = Self::take(storage, begin).await;
        assert_eq!(now.head, self.head, "an event was written");
        assert_eq!(now.conversation, self.conversation);
        assert_eq!(now.state, self.state);
        let turn = lookup::turn(storage, begin.turn_id).await;
        assert_eq!(turn, None, "the turn was written");
        if let Some(conversation) = &self.conversation {
            let messages = lookup::messages(storage, conversation.id).await;
            assert!(
                messages
                    .iter()
                    .all(|message| message.turn_id != Some(begin.turn_id))
            );
        }
    }

    /// Asserts that nothing of `begin` is stored, including its entry.
    pub(crate) async fn assert_no_trace_of(&self, storage: &Store, begin: &BeginTurn) {
        self.assert_unchanged_by(storage, begin).await;
        if let Some(entry) = &begin.idempotency {
            let record = lookup::record(storage, entry).await;
            assert_eq!(record, None, "the entry was written");
        }
    }
}
