//! The end of a running turn by the node that ran it.

use domain::{EventType, TurnStatus};
use ports::{Committed, FinishOutcome, FinishTurn, PromotedTurn, TurnEnding};

use super::{Planner, committed, ending::Ending};
use crate::{ConversationFacts, Facts, TurnRow, WriteOutcome};

pub(super) fn plan(planner: &mut Planner<'_>, finish: &FinishTurn) -> WriteOutcome {
    let facts = planner.facts;
    let own = facts.turn(&finish.tenant, finish.turn_id).filter(|row| {
        row.node == Some(finish.node) && row.turn.conversation_id == finish.conversation_id
    });
    if let Some(row) = own.filter(|row| is_stored(row, &finish.ending)) {
        return WriteOutcome::Finish(repeated_outcome(facts, finish, row));
    }
    let running = own.filter(|row| row.turn.status == TurnStatus::InProgress);
    let conversation = facts.conversation(&finish.tenant, finish.conversation_id);
    let (Some(row), Some(conversation)) = (running, conversation) else {
        return WriteOutcome::Finish(FinishOutcome::NotOwned);
    };
    let end = match &finish.ending {
        TurnEnding::Completed(reply) => Ending {
            kind: EventType::TurnCompleted,
            status: TurnStatus::Completed,
            reply: Some(reply),
            tool_calls: &reply.tool_calls,
            error: None,
        },
        TurnEnding::Failed {
            problem,
            tool_calls,
        } => Ending {
            kind: EventType::TurnFailed,
            status: TurnStatus::Failed,
            reply: None,
            tool_calls,
            error: Some(problem),
        },
    };
    let node = finish.promote.then_some(finish.node);
    let (first, last, promoted) = planner.end(row, conversation, &end, node, &finish.stamp);
    WriteOutcome::Finish(FinishOutcome::Finished {
        committed: committed(first, last),
        promoted: promoted.map(Box::new),
    })
}

/// Returns true if the turn has already ended in this way: an earlier call succeeded, but its caller
/// did not receive the outcome.
fn is_stored(row: &TurnRow, ending: &TurnEnding) -> bool {
    match ending {
        TurnEnding::Completed(reply) => {
            let stored = row.turn.reply.as_ref().map(|message| message.id);
            row.turn.status == TurnStatus::Completed && stored == Some(reply.message_id)
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
/// end started it.
fn promoted_turn_of(facts: &Facts, finish: &FinishTurn, ended: &TurnRow) -> Option<PromotedTurn> {
    let conversation = facts.conversation(&finish.tenant, finish.conversation_id)?;
    let row = facts.turn(&finish.tenant, conversation.running?)?;
    let is_next = row.turn_number == Some(ended.turn_number? + 1);
    let promoted_at = ended.turn.finished_at?.max(row.turn.created_at);
    let started_then = row.queued_seq.is_some() && row.turn.started_at == Some(promoted_at);
    (is_next && started_then && row.node == Some(finish.node))
        .then(|| to_promoted_turn(row, conversation))
        .flatten()
}

/// Converts the stored turn `row` for the node that is to run it.
pub(super) fn to_promoted_turn(
    row: &TurnRow,
    conversation: &ConversationFacts,
) -> Option<PromotedTurn> {
    Some(PromotedTurn {
        tenant: row.tenant.clone(),
        turn: row.turn.clone(),
        principal: row.principal.clone(),
        user_id: conversation.user_id.clone(),
        place: row.place(conversation.last_message_seq)?,
        reply_id: row.reply_id,
    })
}
