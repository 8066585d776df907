//! Answers to the tool calls of a turn that waits for them.

mod call;
mod outcome;

use domain::{
    ConversationId, EventType, MessageId, NodeId, Stamp, TenantId, ToolStep, TurnId, TurnStep,
    Unanswered,
    turn_step::{calls, tool_calls},
};
use ports::{
    Facts, FactsQuery, RepositoryError,
    write_store::{ConversationFacts, StepRow, TurnAssignment, TurnRow, TurnWait},
};

pub use self::outcome::{AnswerOutcome, AnswerRejection, CallAnswer, MayAnswer, NotStaff};
use super::{
    ending::{next_expiry_of_questions, turn_ids},
    in_doubt,
    promotion::promoted_turn,
};
use crate::{Command, Committed, Part, Planned, Planner, PromotedTurn, Scope};

/// Answers tool calls of a turn: all of them, or none. The first answer to a call wins; the same answer again
/// changes nothing. With the last answer a waiting turn goes on under `node`. A decision of staff, which stands
/// alone, begins another turn, which makes the call and reports its outcome.
#[derive(Debug, Clone, PartialEq)]
pub struct AnswerTurn {
    /// The tenant.
    pub tenant: TenantId,
    /// The turn.
    pub turn_id: TurnId,
    /// The conversation of the turn.
    pub conversation_id: ConversationId,
    /// The answers.
    pub answers: Vec<CallAnswer>,
    /// The calls that the caller may answer.
    pub may: MayAnswer,
    /// The node that runs the turn after the last answer.
    pub node: NodeId,
    /// The id of the turn that a decision of staff begins.
    pub continuation: TurnId,
    /// The id of the reply of that turn.
    pub reply_id: MessageId,
    /// The caller, and the time of the answer.
    pub stamp: Stamp,
}

impl Command for AnswerTurn {
    type Outcome = AnswerOutcome;

    fn scope(&self) -> Scope {
        Scope::new(&self.tenant, [Part::Conversation(self.conversation_id)])
    }

    fn starts_a_turn(&self) -> bool {
        true
    }

    fn needs(&self, query: &mut FactsQuery) {
        let turn = (self.tenant.clone(), self.turn_id);
        query.turns.insert(turn.clone());
        query.journals.insert(turn);
        let conversation = (self.tenant.clone(), self.conversation_id);
        query.conversations.insert(conversation);
        query.nodes.insert(self.node);
    }

    fn stored(&self, facts: &Facts) -> Option<Self::Outcome> {
        let event = |kind| {
            in_doubt::find(facts, &self.tenant, kind, |event| {
                event.turn_id == Some(self.turn_id) && event.stamp == self.stamp
            })
        };
        if let Some(waits) = event(EventType::TurnRequiresAction) {
            let committed = Committed::at(waits);
            return Some(AnswerOutcome::Stored {
                committed,
                resumed: None,
                continuation: None,
            });
        }
        let begun = in_doubt::find(facts, &self.tenant, EventType::TurnQueued, |event| {
            event.turn_id == Some(self.continuation)
        });
        let begun = begun.or_else(|| {
            in_doubt::find(facts, &self.tenant, EventType::TurnStarted, |event| {
                event.turn_id == Some(self.continuation)
            })
        });
        if let Some(begun) = begun {
            // A sweep starts it, if this process was to run it.
            return Some(AnswerOutcome::Stored {
                committed: Committed::at(begun),
                resumed: None,
                continuation: Some(self.continuation),
            });
        }
        let committed = Committed::at(event(EventType::TurnResumed)?);
        let row = facts.turn(&self.tenant, self.turn_id)?;
        let own = Some(row).filter(|row| row.node == Some(self.node));
        let conversation = facts.conversation(&self.tenant, self.conversation_id);
        let journal = facts.journal(&self.tenant, self.turn_id).to_vec();
        Some(AnswerOutcome::Stored {
            committed,
            resumed: own.and_then(|row| resumed_turn(row, conversation?, journal)),
            continuation: None,
        })
    }

    fn plan(&self, planner: &mut Planner<'_>) -> Result<Planned<Self::Outcome>, RepositoryError> {
        let facts = planner.facts;
        let row = facts.turn(&self.tenant, self.turn_id);
        let row = row.filter(|row| row.turn.conversation_id == self.conversation_id);
        let conversation = facts.conversation(&self.tenant, self.conversation_id);
        let (Some(row), Some(conversation)) = (row, conversation) else {
            return Ok(Planned::Rejected(AnswerOutcome::NotFound));
        };
        let mut journal = facts.journal(&self.tenant, self.turn_id).to_vec();
        let changed = match self.answer_all(row, &mut journal) {
            Ok(changed) => changed,
            Err((index, reason)) => {
                return Ok(Planned::Rejected(AnswerOutcome::Rejected { index, reason }));
            }
        };
        if changed.is_empty() {
            let continuation = self.known_continuation(&journal);
            return Ok(Planned::Rejected(AnswerOutcome::Repeated { continuation }));
        }
        if !facts.live_nodes.contains(&self.node) {
            return Ok(Planned::Rejected(AnswerOutcome::NodeDead));
        }
        let rows = changed.iter().map(|&number| StepRow {
            tenant: self.tenant.clone(),
            turn_id: self.turn_id,
            number,
            step: journal[number].clone(),
        });
        planner.rows.changed_steps.extend(rows);
        let mut changed = changed.into_iter();
        let decided = changed.find_map(|number| {
            let call = journal[number].call();
            Some((number, call.filter(|call| call.is_for_staff())?))
        });
        let outcome = match decided {
            Some(decided) => self.continue_with(planner, (row, conversation), &journal, decided),
            None => self.store(planner, (row, conversation), journal),
        };
        Ok(Planned::Applied(outcome))
    }
}

impl AnswerTurn {
    /// Answers the calls in the journal. Returns the numbers of the entries that have changed, or the
    /// first answer that is not possible.
    fn answer_all(
        &self,
        row: &TurnRow,
        journal: &mut [TurnStep],
    ) -> Result<Vec<usize>, (usize, AnswerRejection)> {
        let mut changed = Vec::new();
        for (index, answer) in self.answers.iter().enumerate() {
            let is_asked = |call: &ToolStep| call.call_id == answer.call_id;
            let number = journal
                .iter()
                .position(|step| step.call().is_some_and(is_asked));
            let number = number.ok_or((index, AnswerRejection::NotFound))?;
            let TurnStep::Tool(call) = &mut journal[number] else {
                continue;
            };
            let is_changed = self
                .answer(row, call, &answer.action)
                .map_err(|reason| (index, reason))?;
            if is_changed {
                changed.push(number);
            }
        }
        Ok(changed)
    }

    /// Returns the turn that an earlier decision has begun.
    fn known_continuation(&self, journal: &[TurnStep]) -> Option<TurnId> {
        let [answer] = &self.answers[..] else {
            return None;
        };
        let asked = calls(journal).find(|call| call.call_id == answer.call_id)?;
        asked.wait.as_ref()?.decision.as_ref()?.continuation
    }

    /// Lets the turn go on, or wait for the answers that it lacks.
    fn store(
        &self,
        planner: &mut Planner<'_>,
        (row, conversation): (&TurnRow, &ConversationFacts),
        journal: Vec<TurnStep>,
    ) -> AnswerOutcome {
        let ids = turn_ids(&row.turn, conversation);
        if calls(&journal).any(ToolStep::holds_turn) {
            let tool_calls = tool_calls(&journal, Unanswered::Waiting);
            planner.rows.waits.push(TurnWait {
                tenant: self.tenant.clone(),
                id: self.turn_id,
                reply_seq: row.reply_seq,
                expires_at: next_expiry_of_questions(&tool_calls),
                tool_calls,
                reasoning: None,
            });
            let kind = EventType::TurnRequiresAction;
            let waits = planner.log_turn(&self.tenant, &self.stamp, kind, ids);
            planner.touch((&self.tenant, self.conversation_id), conversation);
            return AnswerOutcome::Stored {
                committed: Committed::at(waits),
                resumed: None,
                continuation: None,
            };
        }
        planner.rows.assignments.push(TurnAssignment {
            tenant: self.tenant.clone(),
            id: self.turn_id,
            node: Some(self.node),
        });
        let resumed = planner.log_turn(&self.tenant, &self.stamp, EventType::TurnResumed, ids);
        planner.touch((&self.tenant, self.conversation_id), conversation);
        AnswerOutcome::Stored {
            committed: Committed::at(resumed),
            resumed: resumed_turn(row, conversation, journal),
            continuation: None,
        }
    }
}

/// The turn for the node that runs it now.
fn resumed_turn(
    row: &TurnRow,
    conversation: &ConversationFacts,
    journal: Vec<TurnStep>,
) -> Option<Box<PromotedTurn>> {
    let promoted = promoted_turn(row, conversation)?;
    Some(Box::new(PromotedTurn {
        journal,
        ..promoted
    }))
}
