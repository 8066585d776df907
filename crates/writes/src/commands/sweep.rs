//! The sweep: fails the turns of dead nodes and turns that were queued for too long, and starts
//! the turns queued behind them.

use domain::{NodeId, Problem, ProblemCode, Stamp, TenantId, TurnId};
use ports::{
    Committed, Facts, FactsQuery, PromotedTurn, RepositoryError, Sweep, SweepOutcome,
    write_store::{ConversationFacts, SweptConversation, SweptQuery},
};

use super::ending::Ending;
use crate::{Command, Planned, Planner, Scope};

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
        }))
    }
}

/// The progress of a sweep.
struct SweepPass<'a, 'f> {
    planner: &'a mut Planner<'f>,
    sweep: &'a Sweep,
    failed: Vec<TurnId>,
    promoted: Vec<PromotedTurn>,
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
            .end(row, found, &Ending::failure(&problem), None, &by_caller);
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
