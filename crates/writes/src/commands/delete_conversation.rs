//! The deletion of a conversation.

use domain::{ConversationId, EventType, Seq, Stamp, TenantId, Timestamp, erasure::ERASED_AT};
use ports::{
    Facts, FactsQuery, RepositoryError,
    write_store::{ConversationDeletion, ConversationFacts, InTenant, OpenTurnsOf},
};

use super::{check_version, in_doubt};
use crate::{Command, Committed, DeleteOutcome, Part, Planned, Planner, Scope, event_rows};

/// Cancels the open turns of a conversation (one `turn.cancelled` each, in the order of the turn
/// ids) and marks it as deleted; writes `conversation.deleted` last. `Stale` if `expected` is given
/// and differs from the stored version. `NotFound` also if it is not idle, although it should be.
#[derive(Debug, Clone)]
pub struct DeleteConversation {
    /// The tenant that owns the data.
    pub tenant: TenantId,
    /// The conversation.
    pub id: ConversationId,
    /// The version that the caller expects.
    pub expected: Option<i64>,
    /// If set, the only user whose conversation is deleted: it may have moved to another one since it was
    /// found.
    pub only_of: Option<String>,
    /// True if nothing of it may be read afterwards, and the next purge removes it.
    pub is_erasure: bool,
    /// If set, the conversation is deleted only if it has no open turn, and its last message is from before this
    /// time.
    pub idle_since_before: Option<Timestamp>,
    /// The time and the actor.
    pub stamp: Stamp,
}

impl DeleteConversation {
    fn open_turns(&self, conversation: &ConversationFacts) -> InTenant<OpenTurnsOf> {
        let turns = OpenTurnsOf {
            agent: conversation.agent_id,
            conversation: Some(self.id),
        };
        (self.tenant.clone(), turns)
    }

    /// Returns whether the deletion has written this event: a cancelled turn.
    fn is_cancelled(&self, facts: &Facts, seq: Seq) -> bool {
        facts.logged.iter().any(|event| {
            event.tenant == self.tenant
                && event.seq == seq
                && event.kind == EventType::TurnCancelled
                && event.conversation_id == Some(self.id)
                && event.stamp == self.stamp
        })
    }
}

fn is_idle(conversation: &ConversationFacts, before: Timestamp) -> bool {
    let last = conversation
        .last_message_at
        .unwrap_or(conversation.created_at);
    !conversation.has_open_turns() && last < before
}

impl Command for DeleteConversation {
    type Outcome = DeleteOutcome;

    fn scope(&self) -> Scope {
        Scope::new(&self.tenant, [Part::Conversation(self.id)])
    }

    fn needs(&self, query: &mut FactsQuery) {
        query.conversations.insert((self.tenant.clone(), self.id));
    }

    fn needs_more(&self, facts: &Facts, query: &mut FactsQuery) {
        let found = facts.conversation(&self.tenant, self.id);
        if let Some(found) = found.filter(|found| found.has_open_turns()) {
            query.open_turns.push(self.open_turns(found));
        }
    }

    /// The range of a deletion starts with the events of the turns that it cancelled, directly before
    /// its own.
    fn stored(&self, facts: &Facts) -> Option<Self::Outcome> {
        let kind = EventType::ConversationDeleted;
        let last = in_doubt::find(facts, &self.tenant, kind, |event| {
            event.conversation_id == Some(self.id) && event.stamp == self.stamp
        })?;
        let mut first = last;
        while self.is_cancelled(facts, Seq(first.0 - 1)) {
            first = Seq(first.0 - 1);
        }
        Some(DeleteOutcome::Deleted(Committed { first, last }))
    }

    fn plan(&self, planner: &mut Planner<'_>) -> Result<Planned<Self::Outcome>, RepositoryError> {
        let Self {
            tenant,
            id,
            expected,
            only_of,
            is_erasure,
            idle_since_before,
            stamp,
        } = self;
        let facts = planner.facts;
        let is_right = |user: &Option<String>| only_of.is_none() || only_of == user;
        let stored = facts.conversation(tenant, *id);
        let Some(stored) = stored.filter(|stored| is_right(&stored.user_id)) else {
            return Ok(Planned::Rejected(DeleteOutcome::NotFound));
        };
        if idle_since_before.is_some_and(|before| !is_idle(stored, before)) {
            return Ok(Planned::Rejected(DeleteOutcome::NotFound));
        }
        check_version("conversation", stored.version, *expected)?;
        let first = planner.head(tenant).plus(1);
        let open = facts.open_turns.get(&self.open_turns(stored));
        planner.cancel_open_turns(tenant, open.map_or(&[], Vec::as_slice), stamp);
        let last = planner.log(tenant, stamp, |position| {
            event_rows::conversation_deleted(position, *id, stored)
        });
        let deletion = ConversationDeletion {
            tenant: tenant.clone(),
            id: *id,
            deleted_at: if *is_erasure { ERASED_AT } else { stamp.time },
        };
        planner.rows.conversation_deletions.push(deletion);
        let deleted = DeleteOutcome::Deleted(Committed { first, last });
        Ok(Planned::Applied(deleted))
    }
}
