//! A running turn that begins to wait for an answer to a tool call.

use domain::{
    ConversationId, EventType, FinishReason, NodeId, Reasoning, Stamp, TenantId, ToolCall, TurnId,
    TurnStatus,
};
use ports::{Facts, FactsQuery, RepositoryError, write_store::TurnWait};

use super::{
    ending::{self, Ending, next_expiry_of_questions, turn_ids, unchanged},
    in_doubt,
};
use crate::{Command, Committed, Part, Planned, Planner, PromotedTurn, Reply, Scope};

/// Makes a running turn wait: it stays in progress, but no node runs it. Its text so far becomes the
/// agent's message. If another message waits already, or staff handles the conversation, the turn completes
/// at once instead, as if that had happened later. Writes nothing unless the turn is in progress under `node`.
#[derive(Debug, Clone, PartialEq)]
pub struct SuspendTurn {
    /// The tenant.
    pub tenant: TenantId,
    /// The turn.
    pub turn_id: TurnId,
    /// The conversation of the turn.
    pub conversation_id: ConversationId,
    /// The node that runs the turn: the fencing token.
    pub node: NodeId,
    /// The reply so far, with the calls that wait.
    pub reply: Reply,
    /// The model's reasoning so far, for those who see it.
    pub reasoning: Option<Reasoning>,
    /// The actor and time of the event.
    pub stamp: Stamp,
    /// `true` if a queued turn may be promoted to this node.
    pub promote: bool,
}

/// The outcome of a [`SuspendTurn`].
#[derive(Debug, Clone, PartialEq)]
pub enum SuspendOutcome {
    /// The turn waits.
    Waits(Committed),
    /// The turn has ended, because another message waited.
    Dismissed {
        /// The positions of its events.
        committed: Committed,
        /// The turn that was promoted.
        promoted: Option<Box<PromotedTurn>>,
    },
    /// Nothing was written: the turn is not in progress under this node id (any more).
    NotOwned,
}

impl Command for SuspendTurn {
    type Outcome = SuspendOutcome;

    fn scope(&self) -> Scope {
        Scope::new(&self.tenant, [Part::Conversation(self.conversation_id)])
    }

    fn starts_a_turn(&self) -> bool {
        self.promote
    }

    fn needs(&self, query: &mut FactsQuery) {
        let conversation = (self.tenant.clone(), self.conversation_id);
        query.conversations.insert(conversation);
        if self.promote {
            query.nodes.insert(self.node);
        }
    }

    fn needs_more(&self, facts: &Facts, query: &mut FactsQuery) {
        let key = (&self.tenant, self.conversation_id);
        ending::needs_more(key, self.turn_id, self.promote, facts, query);
    }

    /// The same turn may have waited before, so the times are compared.
    fn stored(&self, facts: &Facts) -> Option<Self::Outcome> {
        let event = |kind| {
            in_doubt::find(facts, &self.tenant, kind, |event| {
                event.turn_id == Some(self.turn_id) && event.stamp == self.stamp
            })
        };
        if let Some(waits) = event(EventType::TurnRequiresAction) {
            return Some(SuspendOutcome::Waits(Committed::at(waits)));
        }
        let key = (&self.tenant, self.conversation_id);
        let node = self.promote.then_some(self.node);
        let ended = in_doubt::ended(facts, key, node, event(EventType::TurnCompleted)?);
        Some(SuspendOutcome::Dismissed {
            committed: ended.committed,
            promoted: ended.promoted,
        })
    }

    fn plan(&self, planner: &mut Planner<'_>) -> Result<Planned<Self::Outcome>, RepositoryError> {
        let facts = planner.facts;
        let own = facts
            .turn(&self.tenant, self.turn_id)
            .filter(|row| row.node == Some(self.node) && row.turn.status == TurnStatus::InProgress);
        let conversation = facts.conversation(&self.tenant, self.conversation_id);
        let (Some(row), Some(conversation)) = (own, conversation) else {
            return Ok(Planned::Rejected(SuspendOutcome::NotOwned));
        };
        if conversation.queued_messages() > 0 || conversation.is_for_staff() {
            let reply = self.dismissed_reply();
            let end = Ending {
                status: TurnStatus::Completed,
                reply: Some(&reply),
                tool_calls: &reply.tool_calls,
                usage: reply.usage,
                requests: &reply.requests,
                reasoning: self.reasoning.as_ref(),
                error: None,
            };
            let node = self.promote.then_some(self.node);
            let ended = planner.end(row, conversation, &end, node, &self.stamp);
            return Ok(Planned::Applied(SuspendOutcome::Dismissed {
                committed: ended.committed,
                promoted: ended.promoted,
            }));
        }
        let at = self.stamp.time.max(row.turn.latest_time());
        let mut after = unchanged((&self.tenant, self.conversation_id), conversation);
        let reply_seq = planner.write_reply(row, &self.reply, &mut after, at);
        planner.rows.waits.push(TurnWait {
            tenant: self.tenant.clone(),
            id: self.turn_id,
            reply_seq: Some(reply_seq),
            tool_calls: self.reply.tool_calls.clone(),
            reasoning: self.reasoning.clone(),
            expires_at: next_expiry_of_questions(&self.reply.tool_calls),
        });
        let ids = turn_ids(&row.turn, conversation);
        let waits = planner.log_turn(
            &self.tenant,
            &self.stamp,
            EventType::TurnRequiresAction,
            ids,
        );
        planner.advance(conversation, after);
        Ok(Planned::Applied(SuspendOutcome::Waits(Committed::at(
            waits,
        ))))
    }
}

impl SuspendTurn {
    /// The reply whose waiting calls are dismissed.
    fn dismissed_reply(&self) -> Reply {
        let dismissed = |call: &ToolCall| match call.needs_of_user() {
            Some(_) => call.clone().dismissed(),
            None => call.clone(),
        };
        Reply {
            finish_reason: FinishReason::Dismissed,
            tool_calls: self.reply.tool_calls.iter().map(dismissed).collect(),
            ..self.reply.clone()
        }
    }
}
