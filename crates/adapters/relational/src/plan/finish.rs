//! The end of a running turn by the process that ran it.

use domain::{EventType, TurnStatus};
use ports::{FinishOutcome, FinishTurn, TurnEnding};

use super::{Planner, committed, ending::End};
use crate::Outcome;

pub(super) fn plan(planner: &mut Planner<'_>, finish: &FinishTurn) -> Outcome {
    let facts = planner.facts;
    let running = facts.turn(&finish.tenant, finish.turn_id).filter(|row| {
        row.turn.status == TurnStatus::InProgress
            && row.node == Some(finish.node)
            && row.turn.conversation_id == finish.conversation_id
    });
    let conversation = facts.conversation(&finish.tenant, finish.conversation_id);
    let (Some(row), Some(conversation)) = (running, conversation) else {
        return Outcome::Finish(FinishOutcome::Refused);
    };
    let end = match &finish.ending {
        TurnEnding::Completed(reply) => End {
            kind: EventType::TurnCompleted,
            status: TurnStatus::Completed,
            reply: Some(reply),
            error: None,
        },
        TurnEnding::Failed(problem) => End {
            kind: EventType::TurnFailed,
            status: TurnStatus::Failed,
            reply: None,
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
