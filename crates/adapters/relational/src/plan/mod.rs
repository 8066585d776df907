//! The decisions of a transaction: a pure function of its facts, shared by all stores.

mod agent;
mod begin;
mod cancel;
mod completed_turn;
mod conversation;
mod conversation_state;
mod credential;
mod ending;
mod finish;
mod in_doubt;
mod new_turn;
mod sweep;
mod version;

use std::collections::BTreeMap;

use domain::{EventType, Seq, Stamp, TenantId};
use ports::Committed;

pub use self::{
    cancel::{TurnToCancel, cancel_turn, log_deletion},
    sweep::{SweptConversation, WaitingTurn, fail_queued, sweep, sweep_query, swept_conversations},
    version::check_version,
};
use crate::{
    ConversationAdvance, ConversationFacts, EventRow, Facts, Rows, WriteOp,
    event_rows::{self, LogPosition, TurnIds},
    write_op::Outcomes,
};

/// The rows to write, and the outcomes to return once they are committed.
#[derive(Debug)]
pub struct Plan {
    /// The rows to write.
    pub rows: Rows,
    /// The outcomes: one for each write, in the same order.
    pub outcomes: Outcomes,
}

/// Decides on a batch. The writes must belong to different conversations, changed agents and keys
/// (see [`crate::batch::next_batch`]). A write that an earlier attempt has stored according to
/// `facts.logged` gets its stored outcome, and nothing is written for it.
pub fn plan(ops: &[WriteOp], facts: &Facts) -> Plan {
    let mut planner = Planner::new(facts);
    let outcomes = ops
        .iter()
        .map(|op| {
            if let Some(outcome) = in_doubt::outcome(facts, op) {
                return Ok(outcome);
            }
            match op {
                WriteOp::CompletedTurn(completed_turn) => {
                    completed_turn::plan(&mut planner, completed_turn)
                }
                WriteOp::Begin(begin) => begin::plan(&mut planner, begin),
                WriteOp::Finish(finish) => Ok(finish::plan(&mut planner, finish)),
                WriteOp::CreateAgent(create) => agent::create(&mut planner, create),
                WriteOp::UpdateAgent(update) => agent::update(&mut planner, update),
                WriteOp::CreateConversation(create) => conversation::create(&mut planner, create),
                WriteOp::UpdateConversation(update) => conversation::update(&mut planner, update),
                WriteOp::DeleteConversation(delete) => conversation::delete(&mut planner, delete),
                WriteOp::CreateCredential(create) => credential::create(&mut planner, create),
                WriteOp::RevokeCredential(revoke) => Ok(credential::revoke(&mut planner, revoke)),
            }
        })
        .collect();
    Plan {
        rows: planner.into_rows(),
        outcomes,
    }
}

/// Collects the rows to write and assigns event positions.
struct Planner<'a> {
    facts: &'a Facts,
    heads: BTreeMap<TenantId, Seq>,
    rows: Rows,
}

impl<'a> Planner<'a> {
    fn new(facts: &'a Facts) -> Self {
        Self {
            facts,
            heads: BTreeMap::new(),
            rows: Rows::default(),
        }
    }

    fn into_rows(self) -> Rows {
        Rows {
            heads: self.heads.into_iter().collect(),
            ..self.rows
        }
    }

    /// Returns the position of the tenant's newest event, including the events of this plan.
    fn head(&self, tenant: &TenantId) -> Seq {
        let known = self.heads.get(tenant);
        let known = known.or_else(|| self.facts.heads.get(tenant));
        known.copied().unwrap_or_default()
    }

    /// Appends an event to its tenant's log; `row` builds it for its position.
    fn log(
        &mut self,
        tenant: &TenantId,
        stamp: &Stamp,
        row: impl FnOnce(LogPosition<'_>) -> EventRow,
    ) -> Seq {
        let seq = self.head(tenant).plus(1);
        self.heads.insert(tenant.clone(), seq);
        self.rows
            .events
            .push(row(LogPosition { tenant, seq, stamp }));
        seq
    }

    fn log_turn(
        &mut self,
        tenant: &TenantId,
        stamp: &Stamp,
        kind: EventType,
        turn: TurnIds<'_>,
    ) -> Seq {
        self.log(tenant, stamp, |position| {
            event_rows::turn_event(position, kind, turn)
        })
    }

    /// Updates the counters, the times and the position of an existing conversation. Its times never
    /// run backwards, although the clocks of nodes differ. A later update contains the changes of
    /// an earlier one, which it replaces.
    fn advance(&mut self, conversation: &ConversationFacts, mut advance: ConversationAdvance) {
        let not_before = conversation.updated_at;
        advance.updated_at = advance.updated_at.max(not_before);
        advance.last_message_at = advance.last_message_at.map(|at| at.max(not_before));
        advance.sort_seq = self.head(&advance.tenant);
        let is_same = |other: &mut ConversationAdvance| {
            other.id == advance.id && other.tenant == advance.tenant
        };
        self.rows.advances.pop_if(is_same);
        self.rows.advances.push(advance);
    }
}

/// The positions of the events from `first` to `last`.
const fn committed(first: Seq, last: Seq) -> Committed {
    Committed { first, last }
}

#[cfg(test)]
mod tests;
