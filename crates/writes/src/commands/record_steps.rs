//! Entries of the journal of a running turn.

use domain::{
    ConversationId, EventType, Handover, NodeId, Stamp, TenantId, ToolStep, TurnId, TurnStep,
};
use ports::{
    Facts, FactsQuery, RepositoryError,
    write_store::{ConversationHandover, RunningTurn, StepRow, TurnCalls},
};

use super::in_doubt;
use crate::{Command, Committed, Part, Planned, Planner, Scope, event_rows};

/// Adds entries to the journal of a running turn: calls before they are made, and again when they have
/// ended. The end of a call with which the agent hands its conversation over does that, with the event
/// `conversation.updated`. Writes nothing, and returns
/// `NotOwned`, unless the turn is in progress under `node`. Writing the
/// same entries twice is the same as once.
#[derive(Debug, Clone, PartialEq)]
pub struct RecordSteps {
    /// The tenant.
    pub tenant: TenantId,
    /// The turn.
    pub turn_id: TurnId,
    /// The conversation of the turn.
    pub conversation_id: ConversationId,
    /// The node that runs the turn: the fencing token.
    pub node: NodeId,
    /// New entries, with their numbers.
    pub begun: Vec<(usize, TurnStep)>,
    /// Entries that were recorded before, and have changed since.
    pub changed: Vec<(usize, TurnStep)>,
    /// The time and the actor.
    pub stamp: Stamp,
}

/// The outcome of a [`RecordSteps`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecordStepsOutcome {
    /// The entries are recorded; with the position of the event, if the conversation was handed over.
    Recorded(Option<Committed>),
    /// Nothing was written: the turn is not in progress under this node id (any more).
    NotOwned,
}

impl RecordStepsOutcome {
    /// Returns whether the entries are recorded.
    pub fn is_recorded(self) -> bool {
        self != Self::NotOwned
    }
}

impl RecordSteps {
    fn rows(&self, steps: &[(usize, TurnStep)]) -> impl Iterator<Item = StepRow> {
        steps.iter().map(|(number, step)| StepRow {
            tenant: self.tenant.clone(),
            turn_id: self.turn_id,
            number: *number,
            step: step.clone(),
        })
    }

    /// The row that tells whether a call of the turn may act, if calls begin.
    fn calls(&self) -> Option<TurnCalls> {
        // An approved call was recorded before, and begins now.
        let approved = self.changed.iter().filter(|(_, step)| !step.has_ended());
        let calls = self.begun.iter().chain(approved);
        let acts = calls.filter_map(|(_, step)| step.call().map(ToolStep::may_have_acted));
        Some(TurnCalls {
            tenant: self.tenant.clone(),
            id: self.turn_id,
            may_act: acts.reduce(|any, acts| any || acts)?,
        })
    }

    /// The hand-over that one of the calls has made.
    fn handover(&self) -> Option<Handover> {
        let mut changed = self.changed.iter().filter_map(|(_, step)| step.call());
        changed.find_map(|call| Handover::by(call, self.stamp.time))
    }

    /// Hands the conversation over, unless staff handles it already.
    fn hand_over(&self, planner: &mut Planner<'_>, handover: Handover) -> Option<Committed> {
        let (tenant, id) = (&self.tenant, self.conversation_id);
        let found = planner.facts.conversation(tenant, id);
        let conversation = found.filter(|found| !found.is_for_staff())?;
        // Readers find the hand-over in the conversation.
        let sort_seq = planner.log(tenant, &self.stamp, |position| {
            let kind = EventType::ConversationUpdated;
            event_rows::stored_conversation_event(position, kind, id, conversation)
        });
        planner.rows.handovers.push(ConversationHandover {
            tenant: tenant.clone(),
            id,
            version: conversation.version + 1,
            handover: Handover {
                at: handover.at.max(conversation.updated_at),
                ..handover
            },
            sort_seq,
        });
        Some(Committed::at(sort_seq))
    }
}

impl Command for RecordSteps {
    type Outcome = RecordStepsOutcome;

    fn scope(&self) -> Scope {
        Scope::new(&self.tenant, [Part::Conversation(self.conversation_id)])
    }

    fn uses_log(&self) -> bool {
        self.handover().is_some()
    }

    fn needs(&self, query: &mut FactsQuery) {
        query
            .running_turns
            .push(running_turn(&self.tenant, self.turn_id, self.node));
        if self.handover().is_some() {
            let conversation = (self.tenant.clone(), self.conversation_id);
            query.conversations.insert(conversation);
        }
    }

    /// Entries can be written again, but staff may have given the conversation back since.
    fn stored(&self, facts: &Facts) -> Option<Self::Outcome> {
        self.handover()?;
        let kind = EventType::ConversationUpdated;
        let at = in_doubt::find(facts, &self.tenant, kind, |event| {
            event.conversation_id == Some(self.conversation_id) && event.stamp == self.stamp
        })?;
        Some(RecordStepsOutcome::Recorded(Some(Committed::at(at))))
    }

    fn plan(&self, planner: &mut Planner<'_>) -> Result<Planned<Self::Outcome>, RepositoryError> {
        let running = running_turn(&self.tenant, self.turn_id, self.node);
        if !planner.facts.running_turns.contains(&running) {
            return Ok(Planned::Rejected(RecordStepsOutcome::NotOwned));
        }
        let handover = self.handover();
        let committed = handover.and_then(|handover| self.hand_over(planner, handover));
        planner.rows.calls.extend(self.calls());
        planner.rows.steps.extend(self.rows(&self.begun));
        planner.rows.changed_steps.extend(self.rows(&self.changed));
        Ok(Planned::Applied(RecordStepsOutcome::Recorded(committed)))
    }
}

pub(super) fn running_turn(tenant: &TenantId, id: TurnId, node: NodeId) -> RunningTurn {
    RunningTurn {
        tenant: tenant.clone(),
        id,
        node,
    }
}
