//! The rows of a transaction while its commands are decided.

use std::collections::BTreeMap;

use domain::{EventType, IdempotencyEntry, Seq, Stamp, TenantId, TurnId};
use ports::{
    Facts, Idempotent, Rows,
    write_store::{ConversationAdvance, ConversationFacts, EventRow, IdempotencyRow},
};

use crate::{
    Planned,
    event_rows::{self, LogPosition, TurnIds},
};

/// Collects the rows to write and assigns event positions.
pub struct Planner<'a> {
    pub(crate) facts: &'a Facts,
    pub(crate) heads: BTreeMap<TenantId, Seq>,
    pub(crate) rows: Rows,
}

impl<'a> Planner<'a> {
    pub(crate) fn new(facts: &'a Facts) -> Self {
        Self {
            facts,
            heads: BTreeMap::new(),
            rows: Rows::default(),
        }
    }

    pub(crate) fn into_rows(self) -> Rows {
        Rows {
            heads: self.heads.into_iter().collect(),
            ..self.rows
        }
    }

    /// Returns the position of the tenant's newest event, including the events of this plan.
    pub(crate) fn head(&self, tenant: &TenantId) -> Seq {
        let known = self.heads.get(tenant);
        let known = known.or_else(|| self.facts.heads.get(tenant));
        known.copied().unwrap_or_default()
    }

    /// Returns the outcome of a creation whose idempotency key was used before.
    pub(crate) fn replayed<T>(
        &self,
        tenant: &TenantId,
        idempotency: Option<&IdempotencyEntry>,
    ) -> Option<Planned<Idempotent<T>>> {
        let record = self.facts.existing_record(tenant, idempotency)?;
        Some(Planned::Rejected(Idempotent::Replayed(record.clone())))
    }

    /// Writes the record of a key that is used, and has begun `turn_id` if that is given.
    pub(crate) fn push_record(
        &mut self,
        tenant: &TenantId,
        idempotency: Option<IdempotencyEntry>,
        turn_id: Option<TurnId>,
    ) {
        let row = idempotency.map(|idempotency| IdempotencyRow {
            tenant: tenant.clone(),
            idempotency,
            turn_id,
            claimed_by: None,
        });
        self.rows.idempotency.extend(row);
    }

    /// Appends an event to its tenant's log; `row` builds it for its position.
    pub(crate) fn log(
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

    pub(crate) fn log_turn(
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
    pub(crate) fn advance(
        &mut self,
        conversation: &ConversationFacts,
        mut advance: ConversationAdvance,
    ) {
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
