//! What an earlier attempt, whose commit got no answer, has done already.

use domain::{EventType, Seq, TenantId, TurnId, TurnStatus};
use ports::{
    BeginOutcome, BeginTurn, Committed, Exchange, ExchangeOutcome, ExchangeTarget, FinishOutcome,
    FinishTurn, PromotedTurn, TurnEnding,
};

use super::{committed, finish};
use crate::{EventInDoubt, Facts, Item, Outcome, TurnRow};

/// The outcome of an item that is done; none when it is still to be done.
pub(super) fn outcome(facts: &Facts, item: &Item) -> Option<Outcome> {
    if facts.logged.is_empty() {
        return None;
    }
    match item {
        Item::Exchange(exchange) => recorded(facts, exchange).map(Outcome::Exchange),
        Item::Begin(begin) => begun(facts, begin).map(Outcome::Begin),
        Item::Finish(finish) => finished(facts, finish).map(Outcome::Finish),
    }
}

fn recorded(facts: &Facts, exchange: &Exchange) -> Option<ExchangeOutcome> {
    let question = &exchange.question;
    let started = logged(facts, question, EventType::TurnStarted)?;
    let completed = logged(facts, question, EventType::TurnCompleted)?;
    let first = creation(facts, question).unwrap_or(started);
    let row = facts.turn(&question.tenant, question.turn_id)?;
    Some(ExchangeOutcome::Recorded {
        committed: committed(first, completed),
        message_seq: row.message_seq?,
    })
}

/// A turn that waited at first is told as queued, also when it has started since.
fn begun(facts: &Facts, begin: &BeginTurn) -> Option<BeginOutcome> {
    if let Some(queued) = logged(facts, begin, EventType::TurnQueued) {
        return Some(BeginOutcome::Queued(committed(queued, queued)));
    }
    let started = logged(facts, begin, EventType::TurnStarted)?;
    let row = facts.turn(&begin.tenant, begin.turn_id)?;
    Some(BeginOutcome::Started {
        committed: committed(creation(facts, begin).unwrap_or(started), started),
        message_seq: row.message_seq?,
        turn_number: row.turn_number?,
    })
}

/// Only this process completes the turn; but a sweep may have failed it too, for another reason.
fn finished(facts: &Facts, finish: &FinishTurn) -> Option<FinishOutcome> {
    let row = facts.turn(&finish.tenant, finish.turn_id)?;
    let (kind, is_own) = match &finish.ending {
        TurnEnding::Completed(_) => (EventType::TurnCompleted, row.node == Some(finish.node)),
        TurnEnding::Failed { problem, .. } => (
            EventType::TurnFailed,
            row.turn.error.as_ref() == Some(problem),
        ),
    };
    let first = event_of(facts, &finish.tenant, finish.turn_id, kind).filter(|_| is_own)?;
    let promoted = promoted(facts, finish, first);
    let last = promoted.as_ref().map_or(first, |_| first.plus(1));
    Some(FinishOutcome::Finished {
        committed: Committed { first, last },
        promoted: promoted.map(Box::new),
    })
}

/// The turn that started with the very next event, on the same process. One that has ended since
/// needs nobody to run it.
fn promoted(facts: &Facts, finish: &FinishTurn, ended: Seq) -> Option<PromotedTurn> {
    let start = facts.logged.iter().find(|event| {
        event.tenant == finish.tenant
            && event.seq == ended.plus(1)
            && event.kind == EventType::TurnStarted
            && event.conversation_id == Some(finish.conversation_id)
    })?;
    let row: &TurnRow = facts
        .turn(&finish.tenant, start.turn_id?)
        .filter(|row| row.turn.status == TurnStatus::InProgress && row.node == Some(finish.node))?;
    let conversation = facts.conversation(&finish.tenant, finish.conversation_id)?;
    finish::promoted(row, conversation.user_id.as_deref())
}

fn logged(facts: &Facts, question: &BeginTurn, kind: EventType) -> Option<Seq> {
    event_of(facts, &question.tenant, question.turn_id, kind)
}

fn event_of(facts: &Facts, tenant: &TenantId, turn: TurnId, kind: EventType) -> Option<Seq> {
    let is_it = |event: &&EventInDoubt| {
        event.tenant == *tenant && event.turn_id == Some(turn) && event.kind == kind
    };
    facts.logged.iter().find(is_it).map(|event| event.seq)
}

/// The event of the conversation that the question made.
fn creation(facts: &Facts, question: &BeginTurn) -> Option<Seq> {
    let ExchangeTarget::New(conversation) = &question.target else {
        return None;
    };
    let is_it = |event: &&EventInDoubt| {
        event.tenant == question.tenant
            && event.conversation_id == Some(conversation.id)
            && event.kind == EventType::ConversationCreated
    };
    facts.logged.iter().find(is_it).map(|event| event.seq)
}
