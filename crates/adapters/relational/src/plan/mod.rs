//! What a transaction decides and writes, from the facts alone: the same in every store.

mod begin;
mod cancel;
mod conversation;
mod ending;
mod exchange;
mod finish;
mod question;
mod repeated;
mod sweep;

use std::collections::BTreeMap;

use domain::{EventType, Seq, Stamp, TenantId};
use ports::Committed;

pub use self::{
    cancel::{OpenTurn, cancel_turn, change, delete},
    conversation::new_conversation,
    sweep::{SweptConversation, WaitingTurn, fail_queued, sweep, sweep_query, swept_conversations},
};
use crate::{
    ConversationAdvance, ConversationFacts, EventRow, Facts, Item, Rows,
    event_rows::{self, LogPlace, TurnPlace},
    item::Outcomes,
};

/// What is to be written, and what each item is told once that is committed.
#[derive(Debug)]
pub struct Plan {
    /// What is to be written.
    pub rows: Rows,
    /// One outcome an item, in their order.
    pub outcomes: Outcomes,
}

/// Decides about a batch. Items must be of different conversations and keys (see
/// [`crate::batch::form`]); an item that an earlier attempt has stored, as `facts.logged` tells,
/// is answered as done and writes nothing.
pub fn plan(items: &[Item], facts: &Facts) -> Plan {
    let mut planner = Planner::new(facts);
    let outcomes = items
        .iter()
        .map(|item| {
            if let Some(outcome) = repeated::outcome(facts, item) {
                return Ok(outcome);
            }
            match item {
                Item::Exchange(exchange) => exchange::plan(&mut planner, exchange),
                Item::Begin(begin) => begin::plan(&mut planner, begin),
                Item::Finish(finish) => Ok(finish::plan(&mut planner, finish)),
            }
        })
        .collect();
    Plan {
        rows: planner.into_rows(),
        outcomes,
    }
}

/// Collects rows and numbers events.
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

    /// Returns the position of the tenant's newest event, those of this plan included.
    fn head(&self, tenant: &TenantId) -> Seq {
        let known = self.heads.get(tenant);
        let known = known.or_else(|| self.facts.heads.get(tenant));
        known.copied().unwrap_or_default()
    }

    /// Adds an event at the end of its tenant's log, as `row` makes it for its place.
    fn log(
        &mut self,
        tenant: &TenantId,
        stamp: &Stamp,
        row: impl FnOnce(LogPlace<'_>) -> EventRow,
    ) -> Seq {
        let seq = self.head(tenant).plus(1);
        self.heads.insert(tenant.clone(), seq);
        self.rows.events.push(row(LogPlace { tenant, seq, stamp }));
        seq
    }

    fn log_turn(
        &mut self,
        tenant: &TenantId,
        stamp: &Stamp,
        kind: EventType,
        turn: TurnPlace<'_>,
    ) -> Seq {
        self.log(tenant, stamp, |place| event_rows::turn(place, kind, turn))
    }

    /// Stores how far an existing conversation has come. Its times never run backwards, although
    /// the clocks of nodes differ.
    fn advance(&mut self, conversation: &ConversationFacts, mut advance: ConversationAdvance) {
        let not_before = conversation.updated_at;
        advance.updated_at = advance.updated_at.max(not_before);
        advance.last_message_at = advance.last_message_at.map(|at| at.max(not_before));
        advance.sort_seq = self.head(&advance.tenant);
        self.rows.advances.push(advance);
    }
}

/// Positions of the events from `first` to `last`.
const fn committed(first: Seq, last: Seq) -> Committed {
    Committed { first, last }
}

#[cfg(test)]
mod tests;
