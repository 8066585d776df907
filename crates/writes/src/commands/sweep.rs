//! The sweep: resumes turns without a live node, fails turns that were queued for too long, and starts
//! the next queued turns.

use std::time::Duration;

use domain::{
    ConversationId, NodeId, Problem, ProblemCode, Stamp, TenantId, Timestamp, TurnId, Unanswered,
    turn_step::{reasoning, requests, tool_calls},
};
use ports::{
    Facts, FactsQuery, RepositoryError,
    write_store::{ConversationFacts, SweptConversation, SweptQuery},
};

use super::ending::Ending;
use crate::{Command, Committed, Planned, Planner, PromotedTurn, Scope};

/// One pass over a tenant's turns. Gives to `node` every turn in progress without a node, or whose node
/// is marked as dead or unknown, with `turn.resumed`; but a turn whose processes have died twice without
/// ending a step fails as `interrupted`, which releases its idempotency key like any retryable failure.
/// Fails as `action_expired` turns whose user has not answered in time, and returns the calls that staff
/// has not decided in time. Fails as `engine_timeout` turns that were queued for longer than `max_wait`. Promotes the first queued
/// turn of each conversation without a turn in progress, also behind turns that this pass failed, in the
/// order of their `turn.queued` events. The actor of each event is the principal that started the turn.
/// Changes at most `limit` turns; a caller that receives that many calls again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sweep {
    /// The tenant.
    pub tenant: TenantId,
    /// The node that resumes turns and to which queued turns are promoted, if it is alive; `None` while
    /// it drains, which does neither.
    pub node: Option<NodeId>,
    /// The maximum time for which a turn may be queued, by the store's clock.
    pub max_wait: Duration,
    /// The time of the events of this pass.
    pub now: Timestamp,
    /// The maximum number of turns to end, resume or promote.
    pub limit: usize,
}

/// The outcome of a pass.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SweepOutcome {
    /// The positions of its events; `None` if it wrote none.
    pub committed: Option<Committed>,
    /// The turns that it failed.
    pub failed: Vec<TurnId>,
    /// The turns that it resumed or promoted: the node of the sweep runs them now.
    pub promoted: Vec<PromotedTurn>,
    /// Calls that staff has not decided in time.
    pub undecided: Vec<UndecidedCall>,
}

/// A call of a turn that has ended, which waits for staff.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UndecidedCall {
    /// The conversation of the turn.
    pub conversation_id: ConversationId,
    /// The turn.
    pub turn_id: TurnId,
    /// The id of the call.
    pub call_id: String,
}

impl Command for Sweep {
    type Outcome = SweepOutcome;

    fn scope(&self) -> Scope {
        Scope::new(&self.tenant, [])
    }

    /// The turns of a dead node may be many.
    fn is_long(&self) -> bool {
        true
    }

    fn needs(&self, query: &mut FactsQuery) {
        query.swept = Some(SweptQuery {
            tenant: self.tenant.clone(),
            max_wait: self.max_wait,
            limit: self.limit,
        });
    }

    fn needs_more(&self, facts: &Facts, query: &mut FactsQuery) {
        if facts.swept.is_empty() {
            return;
        }
        query.nodes.extend(self.node);
        for conversation in &facts.swept {
            let tenant = || self.tenant.clone();
            query.conversations.insert((tenant(), conversation.id));
            let turns = conversation.turns().map(|turn| (tenant(), turn));
            query.turns.extend(turns);
            let with_journal = conversation.lost.or(conversation.unanswered);
            let with_entries = with_journal.into_iter().chain(conversation.next());
            query
                .journals
                .extend(with_entries.map(|turn| (tenant(), turn)));
        }
    }

    /// Fails lost and expired turns, and starts the next queued turns, until the limit is reached.
    fn plan(&self, planner: &mut Planner<'_>) -> Result<Planned<Self::Outcome>, RepositoryError> {
        let facts = planner.facts;
        let mut pass = SweepPass {
            planner,
            sweep: self,
            failed: Vec::new(),
            promoted: Vec::new(),
            undecided: Vec::new(),
        };
        for conversation in &facts.swept {
            if let Some(found) = facts.conversation(&self.tenant, conversation.id) {
                pass.conversation(conversation, found);
            }
        }
        Ok(Planned::Applied(SweepOutcome {
            committed: pass.committed(),
            failed: pass.failed,
            promoted: pass.promoted,
            undecided: pass.undecided,
        }))
    }
}

/// The progress of a sweep.
struct SweepPass<'a, 'f> {
    planner: &'a mut Planner<'f>,
    sweep: &'a Sweep,
    failed: Vec<TurnId>,
    promoted: Vec<PromotedTurn>,
    undecided: Vec<UndecidedCall>,
}

impl SweepPass<'_, '_> {
    fn is_full(&self) -> bool {
        self.failed.len() + self.promoted.len() >= self.sweep.limit
    }

    /// The positions of its events, which are all events added to the tenant's log.
    fn committed(&self) -> Option<Committed> {
        let tenant: &TenantId = &self.sweep.tenant;
        let last = self.planner.heads.get(tenant)?;
        let before = self.planner.facts.heads.get(tenant).copied();
        Some(Committed {
            first: before.unwrap_or_default().plus(1),
            last: *last,
        })
    }

    fn conversation(&mut self, swept: &SweptConversation, found: &ConversationFacts) {
        let mut is_free = found.running.is_none();
        if let Some(lost) = swept.lost {
            is_free = self.resume_or_fail(lost, found);
        }
        if let Some(unanswered) = swept.unanswered {
            self.expire(unanswered, found);
            is_free |= self.failed.contains(&unanswered);
        }
        for waiting in swept.waiting.iter().filter(|waiting| waiting.is_expired) {
            self.fail(waiting.id, found, ProblemCode::EngineTimeout);
        }
        if let (true, Some(node)) = (is_free, self.sweep.node) {
            self.promote(swept, found, node);
        }
    }

    /// Fails a turn whose question nobody has answered in time. One that has ended has calls that staff has
    /// not decided in time.
    fn expire(&mut self, id: TurnId, found: &ConversationFacts) {
        let Some(row) = self.planner.facts.turn(&self.sweep.tenant, id) else {
            return;
        };
        if !row.turn.status.is_final() {
            self.fail(id, found, ProblemCode::ActionExpired);
            return;
        }
        let calls = row.turn.tool_calls.iter();
        let is_due = |at: Timestamp| at <= self.sweep.now;
        let due = calls.filter(|call| call.expires_at.is_some_and(is_due));
        self.undecided.extend(due.map(|call| UndecidedCall {
            conversation_id: row.turn.conversation_id,
            turn_id: id,
            call_id: call.id.clone(),
        }));
    }

    /// Resumes a turn without a live node, or fails it. Returns whether its conversation is free then.
    fn resume_or_fail(&mut self, id: TurnId, found: &ConversationFacts) -> bool {
        let facts = self.planner.facts;
        let (Some(row), Some(node)) = (facts.turn(&self.sweep.tenant, id), self.sweep.node) else {
            return false;
        };
        if row.is_left_to_newer() || self.is_full() || !facts.live_nodes.contains(&node) {
            return false;
        }
        let resumed = self.planner.resume(row, found, node, self.sweep.now);
        if resumed.is_none() {
            self.fail(id, found, ProblemCode::Interrupted);
        }
        let is_free = resumed.is_none();
        self.promoted.extend(resumed);
        is_free
    }

    fn fail(&mut self, id: TurnId, found: &ConversationFacts, code: ProblemCode) {
        let facts = self.planner.facts;
        let Some(row) = facts.turn(&self.sweep.tenant, id) else {
            return;
        };
        if row.is_left_to_newer() || self.is_full() {
            return;
        }
        let problem = Problem::new(code);
        let journal = facts.journal(&self.sweep.tenant, id);
        let (calls, requests) = (tool_calls(journal, Unanswered::Expired), requests(journal));
        let reasoning = reasoning(journal);
        let by_caller = Stamp {
            time: self.sweep.now,
            actor: row.principal.clone(),
        };
        self.planner.end(
            row,
            found,
            &Ending {
                reasoning: reasoning.as_ref(),
                ..Ending::failure(&problem, &calls, &requests)
            },
            None,
            &by_caller,
        );
        self.failed.push(id);
    }

    /// Starts the next queued turn. If the limit kept an earlier turn from being failed, it is
    /// reached here, too, and the next turn does not start.
    fn promote(&mut self, swept: &SweptConversation, found: &ConversationFacts, node: NodeId) {
        if self.is_full() {
            return;
        }
        let conversation = ConversationFacts {
            first_waiting: swept.next(),
            ..found.clone()
        };
        let promoted = self.planner.promote_next(
            (&self.sweep.tenant, swept.id),
            &conversation,
            node,
            self.sweep.now,
        );
        self.promoted.extend(promoted);
    }
}
