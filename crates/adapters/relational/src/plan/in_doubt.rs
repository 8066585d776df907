//! The stored outcomes of an earlier attempt whose commit was not confirmed.

use domain::{AgentId, ConversationId, EventType, Seq, TenantId, TurnId, TurnStatus};
use ports::{
    BeginOutcome, BeginTurn, Committed, CompletedTurn, ConversationTarget, FinishOutcome,
    FinishTurn, Idempotent, PromotedTurn, RecordTurnOutcome, TurnEnding,
};

use super::{committed, finish};
use crate::{EventInDoubt, Facts, TurnRow, WriteOp, WriteOutcome};

/// The outcome of a write that an earlier attempt has stored; `None` if it is not stored.
pub(super) fn outcome(facts: &Facts, op: &WriteOp) -> Option<WriteOutcome> {
    if facts.logged.is_empty() {
        return None;
    }
    match op {
        WriteOp::CompletedTurn(completed_turn) => {
            completed_turn_outcome(facts, completed_turn).map(WriteOutcome::CompletedTurn)
        }
        WriteOp::Begin(begin) => begin_outcome(facts, begin).map(WriteOutcome::Begin),
        WriteOp::Finish(finish) => finish_outcome(facts, finish).map(WriteOutcome::Finish),
        WriteOp::CreateAgent(create) => {
            let (tenant, agent) = (&create.tenant, create.agent.id);
            let created = agent_event(facts, tenant, agent, EventType::AgentCreated)?;
            let applied = Idempotent::Applied(committed(created, created));
            Some(WriteOutcome::CreateAgent(applied))
        }
        WriteOp::CreateConversation(create) => {
            let (tenant, conversation) = (&create.tenant, create.conversation.id);
            let kind = EventType::ConversationCreated;
            let created = conversation_event(facts, tenant, conversation, kind)?;
            let applied = Idempotent::Applied(Some(committed(created, created)));
            Some(WriteOutcome::CreateConversation(applied))
        }
    }
}

fn completed_turn_outcome(
    facts: &Facts,
    completed_turn: &CompletedTurn,
) -> Option<RecordTurnOutcome> {
    let begin = &completed_turn.begin;
    let started = turn_event(facts, begin, EventType::TurnStarted)?;
    let completed = turn_event(facts, begin, EventType::TurnCompleted)?;
    let first = creation_event(facts, begin).unwrap_or(started);
    let row = facts.turn(&begin.tenant, begin.turn_id)?;
    Some(RecordTurnOutcome::Recorded {
        committed: committed(first, completed),
        message_seq: row.message_seq?,
    })
}

/// A turn that was queued at first is reported as queued, even if it has started since.
fn begin_outcome(facts: &Facts, begin: &BeginTurn) -> Option<BeginOutcome> {
    if let Some(queued) = turn_event(facts, begin, EventType::TurnQueued) {
        return Some(BeginOutcome::Queued(committed(queued, queued)));
    }
    let started = turn_event(facts, begin, EventType::TurnStarted)?;
    let row = facts.turn(&begin.tenant, begin.turn_id)?;
    Some(BeginOutcome::Started {
        committed: committed(creation_event(facts, begin).unwrap_or(started), started),
        message_seq: row.message_seq?,
        turn_number: row.turn_number?,
    })
}

/// Only this node completes the turn, but a sweep may have failed it for another reason.
fn finish_outcome(facts: &Facts, finish: &FinishTurn) -> Option<FinishOutcome> {
    let row = facts.turn(&finish.tenant, finish.turn_id)?;
    let (kind, is_own) = match &finish.ending {
        TurnEnding::Completed(_) => (EventType::TurnCompleted, row.node == Some(finish.node)),
        TurnEnding::Failed { problem, .. } => (
            EventType::TurnFailed,
            row.turn.error.as_ref() == Some(problem),
        ),
    };
    let first = find_turn_event(facts, &finish.tenant, finish.turn_id, kind).filter(|_| is_own)?;
    let promoted = promoted_turn(facts, finish, first);
    let last = promoted.as_ref().map_or(first, |_| first.plus(1));
    Some(FinishOutcome::Finished {
        committed: Committed { first, last },
        promoted: promoted.map(Box::new),
    })
}

/// The turn that this node started with the next event. A turn that has ended since needs no
/// runner.
fn promoted_turn(facts: &Facts, finish: &FinishTurn, ended: Seq) -> Option<PromotedTurn> {
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
    finish::to_promoted_turn(row, conversation.user_id.as_deref())
}

fn turn_event(facts: &Facts, begin: &BeginTurn, kind: EventType) -> Option<Seq> {
    find_turn_event(facts, &begin.tenant, begin.turn_id, kind)
}

fn find_turn_event(facts: &Facts, tenant: &TenantId, turn: TurnId, kind: EventType) -> Option<Seq> {
    let matches = |event: &&EventInDoubt| {
        event.tenant == *tenant && event.turn_id == Some(turn) && event.kind == kind
    };
    facts.logged.iter().find(matches).map(|event| event.seq)
}

/// The position of the event with which this turn created its conversation.
fn creation_event(facts: &Facts, begin: &BeginTurn) -> Option<Seq> {
    let ConversationTarget::New(conversation) = &begin.target else {
        return None;
    };
    conversation_event(
        facts,
        &begin.tenant,
        conversation.id,
        EventType::ConversationCreated,
    )
}

fn conversation_event(
    facts: &Facts,
    tenant: &TenantId,
    conversation: ConversationId,
    kind: EventType,
) -> Option<Seq> {
    let matches = |event: &&EventInDoubt| {
        event.tenant == *tenant && event.conversation_id == Some(conversation) && event.kind == kind
    };
    facts.logged.iter().find(matches).map(|event| event.seq)
}

fn agent_event(facts: &Facts, tenant: &TenantId, agent: AgentId, kind: EventType) -> Option<Seq> {
    let matches = |event: &&EventInDoubt| {
        event.tenant == *tenant && event.agent_id == Some(agent) && event.kind == kind
    };
    facts.logged.iter().find(matches).map(|event| event.seq)
}
