//! The next version of a conversation.

use domain::{Conversation, EventType, Handler, Stamp, TenantId, event_data::ConversationMove};
use ports::{
    ConversationName, Facts, FactsQuery, RepositoryError,
    write_store::{ConversationFacts, ConversationUpdate},
};

use super::{check_version, dismissal, in_doubt};
use crate::{Command, Committed, Part, Planned, Planner, Scope, event_rows};

/// Replaces the columns of a conversation that clients can change, and returns it as stored. Writes
/// `conversation.updated`, which records the move if the user is another one. A turn that waits for the
/// user is dismissed if staff takes over. `Stale` unless the stored version is `conversation.version - 1`;
/// `Conflict` if the new user has a conversation with its name; `None` if the conversation does not exist.
#[derive(Debug, Clone)]
pub struct UpdateConversation {
    /// The tenant that owns the data.
    pub tenant: TenantId,
    /// The next version of the conversation.
    pub conversation: Conversation,
    /// The time and the actor.
    pub stamp: Stamp,
}

impl Command for UpdateConversation {
    type Outcome = Option<(Committed, Conversation)>;

    fn scope(&self) -> Scope {
        let conversation = Part::Conversation(self.conversation.id);
        let name = ConversationName::of(&self.conversation).map(Part::Name);
        Scope::new(&self.tenant, [conversation].into_iter().chain(name))
    }

    fn needs(&self, query: &mut FactsQuery) {
        let conversation = (self.tenant.clone(), self.conversation.id);
        query.conversations.insert(conversation);
    }

    /// Adds the turn that waits for the user, if staff takes over, and the name of a conversation that moves.
    fn needs_more(&self, facts: &Facts, query: &mut FactsQuery) {
        if self.conversation.handled_by == Handler::Staff {
            let conversation = (self.tenant.clone(), self.conversation.id);
            dismissal::needs_more(&conversation, facts, query);
        }
        let stored = facts.conversation(&self.tenant, self.conversation.id);
        if stored.is_some_and(|stored| stored.user_id != self.conversation.user_id) {
            let name = ConversationName::of(&self.conversation);
            let name = name.map(|name| (self.tenant.clone(), name));
            query.new_names.extend(name);
        }
    }

    /// Returns the conversation as it is stored now: it may have changed again since.
    fn stored(&self, facts: &Facts) -> Option<Self::Outcome> {
        let (changed, kind) = (&self.conversation, EventType::ConversationUpdated);
        let at = in_doubt::find(facts, &self.tenant, kind, |event| {
            event.conversation_id == Some(changed.id) && event.stamp == self.stamp
        })?;
        let stored = facts.conversation(&self.tenant, changed.id);
        let conversation = stored.map_or_else(
            || changed.clone(),
            |stored| updated_conversation(stored, changed, &self.stamp),
        );
        Some(Some((Committed::at(at), conversation)))
    }

    fn plan(&self, planner: &mut Planner<'_>) -> Result<Planned<Self::Outcome>, RepositoryError> {
        let Self {
            tenant,
            conversation,
            stamp,
        } = self;
        let Some(stored) = planner.facts.conversation(tenant, conversation.id) else {
            return Ok(Planned::Rejected(None));
        };
        let before = conversation.version - 1;
        check_version("conversation", stored.version, Some(before))?;
        let mut conversation = updated_conversation(stored, conversation, stamp);
        let moved = (stored.user_id != conversation.user_id).then(|| ConversationMove {
            from: stored.user_id.clone(),
            version: stored.version,
        });
        if moved.is_some() && planner.facts.is_name_used(tenant, &conversation) {
            return Err(RepositoryError::Conflict {
                what: "conversation",
            });
        }
        let first = planner.head(tenant).plus(1);
        if conversation.handled_by == Handler::Staff
            && planner.dismiss_waiting(tenant, stored, stamp)
        {
            // The update below changes this row, too, and a row must be changed once.
            planner.rows.advances.pop();
            conversation
                .open_turns
                .retain(|open| Some(open.id) != stored.running);
        }
        let sort_seq = planner.log(tenant, stamp, |position| {
            event_rows::conversation_updated(position, &conversation, moved)
        });
        planner.rows.conversation_updates.push(ConversationUpdate {
            tenant: tenant.clone(),
            conversation: conversation.clone(),
            sort_seq,
        });
        let committed = Committed {
            first,
            last: sort_seq,
        };
        Ok(Planned::Applied(Some((committed, conversation))))
    }
}

/// Applies the client's changes in `changed` to the stored conversation. Its times never run
/// backwards.
pub(super) fn updated_conversation(
    stored: &ConversationFacts,
    changed: &Conversation,
    stamp: &Stamp,
) -> Conversation {
    let (since, next) = (stored.waiting_since, changed.handled_by);
    Conversation {
        waiting_since: stored.handled_by.waiting_since(since, next, stamp.time),
        agent_id: stored.agent_id,
        message_count: stored.message_count(),
        created_at: stored.created_at,
        updated_at: changed.updated_at.max(stored.updated_at),
        last_message_at: stored.last_message_at,
        ..changed.clone()
    }
}
