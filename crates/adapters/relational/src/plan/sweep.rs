//! Turns that nobody runs any more, turns that waited too long, and those that start in their
//! place.

use std::collections::HashMap;

use domain::{
    ConversationId, EventType, NodeId, Problem, ProblemCode, Stamp, TenantId, TurnId, TurnStatus,
};
use ports::{Committed, PromotedTurn, Sweep, Swept};

use super::{Planner, committed, ending::End};
use crate::{ConversationFacts, Facts, FactsQuery, Rows, TurnRow};

/// A conversation that a sweep looks at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SweptConversation {
    /// The conversation.
    pub id: ConversationId,
    /// Its turn in progress, if the process is dead that runs it.
    pub lost: Option<TurnId>,
    /// The turns that wait, in the order of their `turn.queued` events.
    pub waiting: Vec<WaitingTurn>,
}

/// A turn that waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WaitingTurn {
    /// The turn.
    pub id: TurnId,
    /// Whether it has waited for too long.
    pub is_expired: bool,
}

impl SweptConversation {
    /// The turns that may be ended, and the one that may start.
    fn turns(&self) -> impl Iterator<Item = TurnId> {
        let expired = self.waiting.iter().filter(|waiting| waiting.is_expired);
        let ended = self.lost.into_iter().chain(expired.map(|turn| turn.id));
        ended.chain(self.next())
    }

    /// The first turn that still waits when those are gone that waited for too long.
    fn next(&self) -> Option<TurnId> {
        let mut good = self.waiting.iter().filter(|waiting| !waiting.is_expired);
        good.next().map(|turn| turn.id)
    }
}

/// The conversations of the turns that nobody runs, then those of the turns that wait; `waiting`
/// is in the order of the queues.
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
    let places = conversations.iter().zip(0..);
    let mut places: HashMap<_, _> = places.map(|(found, place)| (found.id, place)).collect();
    for (id, turn) in waiting {
        let place = *places.entry(id).or_insert(conversations.len());
        if place == conversations.len() {
            conversations.push(SweptConversation {
                id,
                lost: None,
                waiting: Vec::new(),
            });
        }
        conversations[place].waiting.push(turn);
    }
    conversations
}

/// What must be known to sweep `conversations`.
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

/// Fails what nobody runs or what waited for too long, and starts what waits behind it, until the
/// limit is reached. `facts` hold what [`sweep_query`] asks for.
pub fn sweep(facts: &Facts, conversations: &[SweptConversation], sweep: &Sweep) -> (Rows, Swept) {
    let mut pass = Pass {
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
    let swept = Swept {
        committed: pass.committed(),
        failed: pass.failed,
        promoted: pass.promoted,
    };
    (pass.planner.into_rows(), swept)
}

/// Fails the turn `row` if it waits. `facts` hold the head of the tenant and the turn's
/// conversation.
pub fn fail_queued(
    facts: &Facts,
    row: &TurnRow,
    problem: &Problem,
    stamp: &Stamp,
) -> (Rows, Option<Committed>) {
    let conversation = facts.conversation(&row.tenant, row.turn.conversation_id);
    let Some(conversation) = conversation.filter(|_| row.turn.status == TurnStatus::Queued) else {
        return (Rows::default(), None);
    };
    let mut planner = Planner::new(facts);
    let (first, last, _) = planner.end(row, conversation, &failure(problem), None, stamp);
    (planner.into_rows(), Some(committed(first, last)))
}

const fn failure(problem: &Problem) -> End<'_> {
    End {
        kind: EventType::TurnFailed,
        status: TurnStatus::Failed,
        reply: None,
        // What a process knew of its calls is gone with it.
        tool_calls: &[],
        error: Some(problem),
    }
}

/// What a sweep has come to.
struct Pass<'a> {
    planner: Planner<'a>,
    sweep: &'a Sweep,
    failed: Vec<TurnId>,
    promoted: Vec<PromotedTurn>,
}

impl Pass<'_> {
    fn is_full(&self) -> bool {
        self.failed.len() + self.promoted.len() >= self.sweep.limit
    }

    /// The positions of its events: all that the tenant's log grew by.
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
        if self.is_full() {
            return;
        }
        let problem = Problem::new(code);
        let by_asker = Stamp {
            time: self.sweep.now,
            actor: row.principal.clone(),
        };
        self.planner
            .end(row, found, &failure(&problem), None, &by_asker);
        self.failed.push(id);
    }

    /// Starts the turn that waits first. Where the limit has kept one before it from being failed,
    /// it keeps this one from starting too.
    fn promote(&mut self, swept: &SweptConversation, found: &ConversationFacts, node: NodeId) {
        if self.is_full() {
            return;
        }
        let conversation = ConversationFacts {
            first_waiting: swept.next(),
            ..found.clone()
        };
        let promoted = self.planner.promote_alone(
            (&self.sweep.tenant, swept.id),
            &conversation,
            node,
            self.sweep.now,
        );
        self.promoted.extend(promoted);
    }
}
