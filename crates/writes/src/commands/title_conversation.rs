//! The title that a model writes.

use domain::{
    AgentId, Conversation, ConversationId, EventType, RequestUsage, Stamp, TenantId, TurnId,
    UsageKind,
};
use ports::{
    Facts, FactsQuery, RepositoryError,
    write_store::{ConversationUpdate, UsageRow},
};

use super::{check_version, in_doubt, update_conversation::updated_conversation};
use crate::{Command, Committed, Part, Planned, Planner, Scope, event_rows};

/// Gives a conversation a title by a model, unless it had a title when it was read, or a person had removed one.
/// Writes `conversation.updated`. Stores the requests to the model also without a title, and if the conversation
/// does not exist; the outcome is then `None`. `Stale`, and nothing is written, if the conversation would get a
/// title and its version has changed since it was read: a change may be a title of a person.
#[derive(Debug, Clone)]
pub struct TitleConversation {
    /// The tenant that owns the data.
    pub tenant: TenantId,
    /// The conversation as the caller has read it.
    pub conversation: Conversation,
    /// The title, if the model has written one.
    pub title: Option<String>,
    /// The turn after which the model was asked.
    pub turn_id: TurnId,
    /// The agent and its version that asked.
    pub agent: (AgentId, i64),
    /// The requests to the model.
    pub requests: Vec<RequestUsage>,
    /// The time and the actor.
    pub stamp: Stamp,
}

impl TitleConversation {
    fn id(&self) -> ConversationId {
        self.conversation.id
    }

    /// Returns the next version of the conversation, if it gets the title.
    fn titled(&self) -> Option<Conversation> {
        let title = self.title.clone()?;
        let is_untitled = self.conversation.is_untitled();
        is_untitled.then(|| self.conversation.titled(title, self.stamp.time))
    }

    fn push_usage(&self, planner: &mut Planner<'_>) {
        // The user may have been erased since the conversation was read.
        let stored = planner.facts.conversation(&self.tenant, self.id());
        let user_id = stored.and_then(|stored| stored.user_id.clone());
        let (agent_id, version) = self.agent;
        let rows = self.requests.iter().map(|request| UsageRow {
            tenant: self.tenant.clone(),
            turn_id: self.turn_id,
            kind: UsageKind::Title,
            agent_id,
            agent_version: Some(version),
            conversation_id: self.id(),
            user_id: user_id.clone(),
            principal: self.stamp.actor.clone(),
            request: request.clone(),
            at: self.stamp.time,
        });
        planner.rows.usage.extend(rows);
    }
}

impl Command for TitleConversation {
    type Outcome = Option<(Committed, Conversation)>;

    fn scope(&self) -> Scope {
        Scope::new(&self.tenant, [Part::Conversation(self.id())])
    }

    fn needs(&self, query: &mut FactsQuery) {
        query.conversations.insert((self.tenant.clone(), self.id()));
    }

    /// Requests can be written again.
    fn stored(&self, facts: &Facts) -> Option<Self::Outcome> {
        let kind = EventType::ConversationUpdated;
        let at = in_doubt::find(facts, &self.tenant, kind, |event| {
            event.conversation_id == Some(self.id()) && event.stamp == self.stamp
        })?;
        Some(Some((Committed::at(at), self.titled()?)))
    }

    fn plan(&self, planner: &mut Planner<'_>) -> Result<Planned<Self::Outcome>, RepositoryError> {
        let tenant = &self.tenant;
        let stored = planner.facts.conversation(tenant, self.id());
        let Some((stored, titled)) = stored.zip(self.titled()) else {
            self.push_usage(planner);
            return Ok(Planned::Applied(None));
        };
        let read = self.conversation.version;
        check_version("conversation", stored.version, Some(read))?;
        let conversation = updated_conversation(stored, &titled, &self.stamp);
        let sort_seq = planner.log(tenant, &self.stamp, |position| {
            event_rows::conversation_updated(position, &conversation, None)
        });
        planner.rows.conversation_updates.push(ConversationUpdate {
            tenant: tenant.clone(),
            conversation: conversation.clone(),
            sort_seq,
        });
        self.push_usage(planner);
        Ok(Planned::Applied(Some((
            Committed::at(sort_seq),
            conversation,
        ))))
    }
}
