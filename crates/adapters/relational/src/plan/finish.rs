//! The end of a running turn by the process that ran it.

use domain::{EventType, TurnStatus};
use ports::{Committed, FinishOutcome, FinishTurn, PromotedTurn, TurnEnding};

use super::{Planner, committed, ending::End};
use crate::{Facts, Outcome, TurnRow};

pub(super) fn plan(planner: &mut Planner<'_>, finish: &FinishTurn) -> Outcome {
    let facts = planner.facts;
    let own = facts.turn(&finish.tenant, finish.turn_id).filter(|row| {
        row.node == Some(finish.node) && row.turn.conversation_id == finish.conversation_id
    });
    if let Some(row) = own.filter(|row| is_stored(row, &finish.ending)) {
        return Outcome::Finish(told_again(facts, finish, row));
    }
    let running = own.filter(|row| row.turn.status == TurnStatus::InProgress);
    let conversation = facts.conversation(&finish.tenant, finish.conversation_id);
    let (Some(row), Some(conversation)) = (running, conversation) else {
        return Outcome::Finish(FinishOutcome::Refused);
    };
    let end = match &finish.ending {
        TurnEnding::Completed(reply) => End {
            kind: EventType::TurnCompleted,
            status: TurnStatus::Completed,
            reply: Some(reply),
            tool_calls: &reply.tool_calls,
            error: None,
        },
        TurnEnding::Failed {
            problem,
            tool_calls,
        } => End {
            kind: EventType::TurnFailed,
            status: TurnStatus::Failed,
            reply: None,
            tool_calls,
            error: Some(problem),
        },
    };
    let node = finish.promote.then_some(finish.node);
    let (first, last, promoted) = planner.end(row, conversation, &end, node, &finish.stamp);
    Outcome::Finish(FinishOutcome::Finished {
        committed: committed(first, last),
        promoted: promoted.map(Box::new),
    })
}

/// Whether the turn has ended in this very way: then an earlier call was carried out whose answer
/// was lost.
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

/// Where the events of that call are is not looked for: no index leads to them.
fn told_again(facts: &Facts, finish: &FinishTurn, ended: &TurnRow) -> FinishOutcome {
    let head = facts.heads.get(&finish.tenant).copied().unwrap_or_default();
    FinishOutcome::Finished {
        committed: Committed {
            first: head.plus(1),
            last: head,
        },
        promoted: promoted_by(facts, finish, ended).map(Box::new),
    }
}

/// The turn that runs here in the place of `ended`: number and time tell that it was this end that
/// promoted it.
fn promoted_by(facts: &Facts, finish: &FinishTurn, ended: &TurnRow) -> Option<PromotedTurn> {
    let conversation = facts.conversation(&finish.tenant, finish.conversation_id)?;
    let row = facts.turn(&finish.tenant, conversation.running?)?;
    let is_next = row.turn_number == Some(ended.turn_number? + 1);
    let promoted_at = ended.turn.finished_at?.max(row.turn.created_at);
    let is_of_then = row.queued_seq.is_some() && row.turn.started_at == Some(promoted_at);
    (is_next && is_of_then && row.node == Some(finish.node))
        .then(|| promoted(row, conversation.user_id.as_deref()))
        .flatten()
}

/// The stored turn `row`, as the process that is to run it is told of it.
pub(super) fn promoted(row: &TurnRow, user_id: Option<&str>) -> Option<PromotedTurn> {
    Some(PromotedTurn {
        tenant: row.tenant.clone(),
        turn: row.turn.clone(),
        principal: row.principal.clone(),
        user_id: user_id.map(str::to_owned),
        message_id: row.message_id,
        message_seq: row.message_seq?,
        turn_number: row.turn_number?,
    })
}
