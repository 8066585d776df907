//! The cancellation of a turn by a caller.

use domain::{
    ConversationId, EventType, NodeId, Reasoning, RequestUsage, Stamp, TenantId, ToolCall, TurnId,
    TurnStatus, Unanswered,
    turn_step::{reasoning, requests, tool_calls},
};
use ports::{Facts, FactsQuery, RepositoryError};

use super::{
    ending::{self, Ended, Ending},
    in_doubt,
};
use crate::{CancelOutcome, Command, Part, Planned, Planner, Reply, Scope};

/// Cancels a queued or running turn, with `turn.cancelled`. If it was running, the first queued turn
/// of its conversation starts, and `partial` is stored: its text as the agent's message unless empty,
/// the tools that were called, and the requests to models.
#[derive(Debug, Clone)]
pub struct CancelTurn {
    /// The tenant.
    pub tenant: TenantId,
    /// The turn.
    pub turn_id: TurnId,
    /// The conversation of the turn.
    pub conversation_id: ConversationId,
    /// The reply up to now; `None` if the caller does not run the turn. The calls are then those of its
    /// journal.
    pub partial: Option<Reply>,
    /// The model's reasoning up to now; `None` if the caller does not run the turn, as for the calls.
    pub reasoning: Option<Reasoning>,
    /// The node on which the next queued turn starts, if it is alive; `None` starts none.
    pub node: Option<NodeId>,
    /// The time and the actor.
    pub stamp: Stamp,
}

impl Command for CancelTurn {
    type Outcome = CancelOutcome;

    fn scope(&self) -> Scope {
        Scope::new(&self.tenant, [Part::Conversation(self.conversation_id)])
    }

    fn starts_a_turn(&self) -> bool {
        self.node.is_some()
    }

    fn needs(&self, query: &mut FactsQuery) {
        let conversation = (self.tenant.clone(), self.conversation_id);
        query.conversations.insert(conversation);
        query.nodes.extend(self.node);
    }

    fn needs_more(&self, facts: &Facts, query: &mut FactsQuery) {
        let key = (&self.tenant, self.conversation_id);
        ending::needs_more(key, self.turn_id, self.node.is_some(), facts, query);
        let found = facts.conversation(&self.tenant, self.conversation_id);
        // A queued continuation begins with entries.
        let has_entries =
            found.is_some_and(|it| it.running == Some(self.turn_id) || it.continuations > 0);
        if has_entries {
            query.journals.insert((self.tenant.clone(), self.turn_id));
        }
    }

    fn stored(&self, facts: &Facts) -> Option<Self::Outcome> {
        let kind = EventType::TurnCancelled;
        let first = in_doubt::find(facts, &self.tenant, kind, |event| {
            event.turn_id == Some(self.turn_id) && event.stamp == self.stamp
        })?;
        let key = (&self.tenant, self.conversation_id);
        Some(in_doubt::ended(facts, key, self.node, first).into())
    }

    fn plan(&self, planner: &mut Planner<'_>) -> Result<Planned<Self::Outcome>, RepositoryError> {
        let facts = planner.facts;
        let found = facts.turn(&self.tenant, self.turn_id);
        let found = found.filter(|row| row.turn.conversation_id == self.conversation_id);
        let Some(row) = found else {
            return Ok(Planned::Rejected(CancelOutcome::NotFound));
        };
        if row.turn.status.is_final() {
            return Ok(Planned::Rejected(CancelOutcome::AlreadyFinal));
        }
        let Some(conversation) = facts.conversation(&self.tenant, self.conversation_id) else {
            // Deleting a conversation cancels its turns, so the conversation of an open turn exists.
            return Ok(Planned::Rejected(CancelOutcome::NotFound));
        };
        let partial = self.partial.as_ref();
        let journal = facts.journal(&self.tenant, self.turn_id);
        let recorded = tool_calls(journal, Unanswered::Cancelled);
        let (calls, requests) = match partial {
            Some(partial) => (with_recorded(partial, recorded), partial.requests.clone()),
            None => (recorded, requests(journal)),
        };
        let reasoning = self.reasoning.clone().or_else(|| reasoning(journal));
        let end = Ending {
            status: TurnStatus::Cancelled,
            reply: partial.filter(|reply| !reply.content.is_empty()),
            tool_calls: &calls,
            usage: RequestUsage::sum(&requests),
            requests: &requests,
            reasoning: reasoning.as_ref(),
            error: None,
        };
        let ended = planner.end(row, conversation, &end, self.node, &self.stamp);
        Ok(Planned::Applied(ended.into()))
    }
}

/// Returns the calls of a partial reply, with those that were recorded after it was taken.
fn with_recorded(partial: &Reply, recorded: Vec<ToolCall>) -> Vec<ToolCall> {
    let still_waits = |call: &ToolCall| call.needs.is_some();
    let settled = partial.tool_calls.iter().map(|call| {
        let recorded = recorded.iter().find(|it| it.id == call.id);
        let settled = recorded.filter(|_| still_waits(call));
        settled.unwrap_or(call).clone()
    });
    let mut calls: Vec<_> = settled.collect();
    let is_missing = |call: &ToolCall| partial.tool_calls.iter().all(|it| it.id != call.id);
    calls.extend(recorded.into_iter().filter(is_missing));
    calls
}

impl From<Ended> for CancelOutcome {
    fn from(
        Ended {
            committed,
            promoted,
        }: Ended,
    ) -> Self {
        Self::Cancelled {
            committed,
            promoted,
        }
    }
}
