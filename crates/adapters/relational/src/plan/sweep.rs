//! The sweep: fails the turns of dead nodes and turns that were queued for too long, and starts
//! the turns queued behind them.

use std::collections::HashMap;

use domain::{
    ConversationId, EventType, NodeId, Problem, ProblemCode, Stamp, TenantId, TurnId, TurnStatus,
};
use ports::{Committed, PromotedTurn, Sweep, SweepOutcome};

use super::{Planner, committed, ending::Ending};
use crate::{ConversationFacts, Facts, FactsQuery, Rows, TurnRow};

/// A conversation that a sweep examines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SweptConversation {
    /// The conversation.
    pub id: ConversationId,
    /// Its running turn, if the node of that turn is dead.
    pub lost: Option<TurnId>,
    /// The queued turns, in the order of their `turn.queued` events.
    pub waiting: Vec<WaitingTurn>,
}

/// A queued turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WaitingTurn {
    /// The turn.
    pub id: TurnId,
    /// True if it was queued for too long.
    pub is_expired: bool,
}

impl SweptConversation {
    /// The turns that may end, and the turn that may start.
    fn turns(&self) -> impl Iterator<Item = TurnId> {
        let expired = self.waiting.iter().filter(|waiting| waiting.is_expired);
        let ended = self.lost.into_iter().chain(expired.map(|turn| turn.id));
        ended.chain(self.next())
    }

    /// The first queued turn that has not expired.
    fn next(&self) -> Option<TurnId> {
        let mut valid = self.waiting.iter().filter(|waiting| !waiting.is_expired);
        valid.next().map(|turn| turn.id)
    }
}

/// Groups turns by conversation: first the conversations of lost turns, then those of queued
/// turns. `waiting` is in the order of the queues.
pub fn swept_conversations(
    lost: impl IntoIterator<Item = (ConversationId, TurnId)>,
    waiting: impl IntoIterator<Item = (ConversationId, WaitingTurn)>,
) -> Vec<SweptConversation> {
    let of_lost = |(id, turn)| SweptConversation {
        id,
        lost: Some(turn),
        waiting: Vec::new(),
    };
    let mut conversations: Vec<_> = lost.into_iter().map(of_lost).collect();
    let indexes = conversations.iter().zip(0..);
    let mut indexes: HashMap<_, _> = indexes.map(|(found, index)| (found.id, index)).collect();
    for (id, turn) in waiting {
        let index = *indexes.entry(id).or_insert(conversations.len());
        if index == conversations.len() {
            conversations.push(SweptConversation {
                id,
                lost: None,
                waiting: Vec::new(),
            });
        }
        conversations[index].waiting.push(turn);
    }
    conversations
}

/// The keys of the facts that a sweep of `conversations` needs.
pub fn sweep_query(sweep: &Sweep, conversations: &[SweptConversation]) -> FactsQuery {
    let tenant = &sweep.tenant;
    let mut query = FactsQuery::default();
    query.tenants.insert(tenant.clone());
    query.nodes.extend(sweep.node);
    for conversation in conversations {
        query.conversations.push((tenant.clone(), conversation.id));
        let turns = conversation.turns().map(|turn| (tenant.clone(), turn));
        query.ended.extend(turns);
    }
    query
}

/// Fails lost and expired turns, and starts the next queued turns, until the limit is reached.
/// `facts` contain the facts of [`sweep_query`].
pub fn sweep(
    facts: &Facts,
    conversations: &[SweptConversation],
    sweep: &Sweep,
) -> (Rows, SweepOutcome) {
    let mut pass = SweepPass {
        planner: Planner::new(facts),
        sweep,
        failed: Vec::new(),
        promoted: Vec::new(),
    };
    for conversation in conversations {
        if let Some(found) = facts.conversation(&sweep.tenant, conversation.id) {
            pass.conversation(conversation, found);
        }
    }
    let swept = SweepOutcome {
        committed: pass.committed(),
        failed: pass.failed,
        promoted: pass.promoted,
    };
    (pass.planner.into_rows(), swept)
}

/// Fails the turn `row` if it is queued and not left to newer nodes. `facts` contain the head of the tenant and the turn's
/// conversation.
pub fn fail_queued(
    facts: &Facts,
    row: &TurnRow,
    problem: &Problem,
    stamp: &Stamp,
) -> (Rows, Option<Committed>) {
    let conversation = facts.conversation(&row.tenant, row.turn.conversation_id);
    let is_due = row.turn.status == TurnStatus::Queued && !row.is_left_to_newer();
    let Some(conversation) = conversation.filter(|_| is_due) else {
        return (Rows::default(), None);
    };
    let mut planner = Planner::new(facts);
    let (first, last, _) = planner.end(row, conversation, &failure(problem), None, stamp);
    (planner.into_rows(), Some(committed(first, last)))
}

const fn failure(problem: &Problem) -> Ending<'_> {
    Ending {
        kind: EventType::TurnFailed,
        status: TurnStatus::Failed,
        reply: None,
        // The tool calls were only in the memory of the node.
        tool_calls: &[],
        error: Some(problem),
    }
}

/// The progress of a sweep.
struct SweepPass<'a> {
    planner: Planner<'a>,
    sweep: &'a Sweep,
    failed: Vec<TurnId>,
    promoted: Vec<PromotedTurn>,
}

impl SweepPass<'_> {
    fn is_full(&self) -> bool {
        self.failed.len() + self.promoted.len() >= self.sweep.limit
    }

    /// The positions of its events, which are all events added to the tenant's log.
    fn committed(&self) -> Option<Committed> {
        let tenant: &TenantId = &self.sweep.tenant;
        let last = self.planner.heads.get(tenant)?;
        let before = self.planner.facts.heads.get(tenant).copied();
        Some(committed(before.unwrap_or_default().plus(1), *last))
    }

    fn conversation(&mut self, swept: &SweptConversation, found: &ConversationFacts) {
        let is_free = found.running.is_none() || swept.lost.is_some();
        if let Some(lost) = swept.lost {
            self.fail(lost, found, ProblemCode::Interrupted);
        }
        for waiting in swept.waiting.iter().filter(|waiting| waiting.is_expired) {
            self.fail(waiting.id, found, ProblemCode::EngineTimeout);
        }
        if let (true, Some(node)) = (is_free, self.sweep.node) {
            self.promote(swept, found, node);
        }
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
        let by_caller = Stamp {
            time: self.sweep.now,
            actor: row.principal.clone(),
        };
        self.planner
            .end(row, found, &failure(&problem), None, &by_caller);
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
