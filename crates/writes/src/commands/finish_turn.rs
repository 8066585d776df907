//! The end of a running turn by the node that ran it.

use domain::{EventType, RequestUsage, TurnStatus};
use ports::{Facts, FactsQuery, RepositoryError, write_store::TurnRow};

use super::{
    ending::{self, Ended, Ending},
    in_doubt,
    promotion::promoted_turn,
};
use crate::{
    Command, Committed, FinishOutcome, FinishTurn, Part, Planned, Planner, PromotedTurn, Scope,
    TurnEnding,
};

impl Command for FinishTurn {
    type Outcome = FinishOutcome;

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

    /// Adds the turn, the one to promote, and the running one: an earlier attempt to end the same turn
    /// may have started it.
    fn needs_more(&self, facts: &Facts, query: &mut FactsQuery) {
        let key = (&self.tenant, self.conversation_id);
        ending::needs_more(key, self.turn_id, self.promote, facts, query);
        let found = facts.conversation(&self.tenant, self.conversation_id);
        let running = found.and_then(|found| found.running);
        query
            .turns
            .extend(running.map(|turn| (self.tenant.clone(), turn)));
    }

    /// Only this node completes the turn, but a sweep may have failed it for another reason, so the
    /// endings are compared.
    fn stored(&self, facts: &Facts) -> Option<Self::Outcome> {
        let row = facts.turn(&self.tenant, self.turn_id)?;
        let (kind, is_own) = match &self.ending {
            TurnEnding::Completed(_) | TurnEnding::HandedOver { .. } => {
                (EventType::TurnCompleted, row.node == Some(self.node))
            }
            TurnEnding::Failed { problem, .. } => (
                EventType::TurnFailed,
                row.turn.error.as_ref() == Some(problem),
            ),
        };
        let first = in_doubt::find(facts, &self.tenant, kind, |event| {
            event.turn_id == Some(self.turn_id)
        });
        let first = first.filter(|_| is_own)?;
        let key = (&self.tenant, self.conversation_id);
        Some(in_doubt::ended(facts, key, Some(self.node), first).into())
    }

    fn plan(&self, planner: &mut Planner<'_>) -> Result<Planned<Self::Outcome>, RepositoryError> {
        let facts = planner.facts;
        let own = facts.turn(&self.tenant, self.turn_id).filter(|row| {
            row.node == Some(self.node) && row.turn.conversation_id == self.conversation_id
        });
        if let Some(row) = own.filter(|row| is_stored(row, &self.ending)) {
            return Ok(Planned::Applied(repeated_outcome(facts, self, row)));
        }
        let running = own.filter(|row| row.turn.status == TurnStatus::InProgress);
        let conversation = facts.conversation(&self.tenant, self.conversation_id);
        let (Some(row), Some(conversation)) = (running, conversation) else {
            return Ok(Planned::Rejected(FinishOutcome::NotOwned));
        };
        let node = self.promote.then_some(self.node);
        let end = Ending {
            reasoning: self.reasoning.as_ref(),
            ..Ending::of(&self.ending)
        };
        let ended = planner.end(row, conversation, &end, node, &self.stamp);
        Ok(Planned::Applied(ended.into()))
    }
}

impl From<Ended> for FinishOutcome {
    fn from(
        Ended {
            committed,
            promoted,
        }: Ended,
    ) -> Self {
        Self::Finished {
            committed,
            promoted,
        }
    }
}

impl<'a> Ending<'a> {
    fn of(ending: &'a TurnEnding) -> Self {
        match ending {
            TurnEnding::Completed(reply) => Self {
                status: TurnStatus::Completed,
                reply: Some(reply),
                tool_calls: &reply.tool_calls,
                usage: reply.usage,
                requests: &reply.requests,
                reasoning: None,
                error: None,
            },
            TurnEnding::HandedOver { tool_calls } => Self {
                status: TurnStatus::Completed,
                reply: None,
                tool_calls,
                usage: None,
                requests: &[],
                reasoning: None,
                error: None,
            },
            TurnEnding::Failed {
                problem,
                tool_calls,
                requests,
            } => Self {
                status: TurnStatus::Failed,
                reply: None,
                tool_calls,
                usage: RequestUsage::sum(requests),
                requests,
                reasoning: None,
                error: Some(problem),
            },
        }
    }
}

/// Returns true if the turn has already ended in this way: an earlier call succeeded, but its caller
/// did not receive the outcome.
fn is_stored(row: &TurnRow, ending: &TurnEnding) -> bool {
    match ending {
        TurnEnding::Completed(reply) => {
            let stored = row.turn.reply.as_ref().map(|message| message.id);
            row.turn.status == TurnStatus::Completed && stored == Some(reply.message_id)
        }
        TurnEnding::HandedOver { .. } => {
            row.turn.status == TurnStatus::Completed && row.turn.reply.is_none()
        }
        TurnEnding::Failed { problem, .. } => {
            row.turn.status == TurnStatus::Failed && row.turn.error.as_ref() == Some(problem)
        }
    }
}

/// Returns the outcome of the earlier call again. The range of its events is empty: no index leads
/// to them.
fn repeated_outcome(facts: &Facts, finish: &FinishTurn, ended: &TurnRow) -> FinishOutcome {
    let head = facts.heads.get(&finish.tenant).copied().unwrap_or_default();
    FinishOutcome::Finished {
        committed: Committed {
            first: head.plus(1),
            last: head,
        },
        promoted: promoted_turn_of(facts, finish, ended).map(Box::new),
    }
}

/// The running turn that the end of `ended` started. Its number and its start time show that this
/// end started it. A continuation is left to a sweep, as after an unconfirmed commit.
fn promoted_turn_of(facts: &Facts, finish: &FinishTurn, ended: &TurnRow) -> Option<PromotedTurn> {
    let conversation = facts.conversation(&finish.tenant, finish.conversation_id)?;
    let row = facts.turn(&finish.tenant, conversation.running?)?;
    let is_next = row.turn_number == Some(ended.turn_number? + 1);
    let promoted_at = ended.turn.finished_at?.max(row.turn.created_at);
    let started_then = row.queued_seq.is_some() && row.turn.started_at == Some(promoted_at);
    let is_own = row.node == Some(finish.node) && row.turn.continues.is_none();
    (is_next && started_then && is_own)
        .then(|| promoted_turn(row, conversation))
        .flatten()
}
