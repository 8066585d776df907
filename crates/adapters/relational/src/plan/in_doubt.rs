//! The stored outcomes of an earlier attempt whose commit was not confirmed.
//!
//! Its events prove them, since other writes may have changed its rows again. They are read under the
//! tenant lock, which waits until the transaction of the earlier attempt has ended.

use domain::{AgentId, ConversationId, EventType, Seq, Stamp, TenantId, TurnId, TurnStatus};
use ports::{
    BeginOutcome, BeginTurn, Committed, CompletedTurn, ConversationTarget, DeleteOutcome,
    FinishOutcome, FinishTurn, Idempotent, PromotedTurn, RecordTurnOutcome, TurnEnding,
    TurnMessages,
};

use super::{committed, conversation::updated_conversation, finish};
use crate::{
    DeleteConversation, EventInDoubt, Facts, TurnRow, UpdateConversation, WriteOp, WriteOutcome,
};

/// The outcome of a write that an earlier attempt has stored; `None` if it is not stored.
pub(super) fn outcome(facts: &Facts, op: &WriteOp) -> Option<WriteOutcome> {
    if !facts.is_in_doubt {
        return None;
    }
    match op {
        WriteOp::CompletedTurn(completed_turn) => {
            completed_turn_outcome(facts, completed_turn).map(WriteOutcome::CompletedTurn)
        }
        WriteOp::Begin(begin) => begin_outcome(facts, begin).map(WriteOutcome::Begin),
        WriteOp::Finish(finish) => finish_outcome(facts, finish).map(WriteOutcome::Finish),
        WriteOp::CreateAgent(create) => {
            let (id, kind) = (create.agent.id, EventType::AgentCreated);
            let at = agent_event(facts, &create.tenant, id, &create.stamp, kind)?;
            let applied = Idempotent::Applied(committed(at, at));
            Some(WriteOutcome::CreateAgent(applied))
        }
        WriteOp::UpdateAgent(update) => {
            let (id, kind) = (update.agent.id, EventType::AgentUpdated);
            let at = agent_event(facts, &update.tenant, id, &update.stamp, kind)?;
            Some(WriteOutcome::UpdateAgent(Some(committed(at, at))))
        }
        WriteOp::CreateConversation(create) => {
            let (id, kind) = (create.conversation.id, EventType::ConversationCreated);
            let at = conversation_event(facts, &create.tenant, id, &create.stamp, kind)?;
            let applied = Idempotent::Applied(Some(committed(at, at)));
            Some(WriteOutcome::CreateConversation(applied))
        }
        WriteOp::UpdateConversation(update) => update_outcome(facts, update),
        WriteOp::DeleteConversation(delete) => {
            deletion(facts, delete).map(WriteOutcome::DeleteConversation)
        }
        // It has no event, but its id is unique.
        WriteOp::CreateCredential(create) => {
            let created = facts.credentials.contains_key(&create.credential.id);
            created.then_some(WriteOutcome::CreateCredential(Idempotent::Applied(())))
        }
        // It can be repeated.
        WriteOp::RevokeCredential(_) => None,
    }
}

/// Returns the outcome of an update, with the conversation as it is stored now: it may have changed
/// again since.
fn update_outcome(facts: &Facts, update: &UpdateConversation) -> Option<WriteOutcome> {
    let changed = &update.conversation;
    let kind = EventType::ConversationUpdated;
    let at = conversation_event(facts, &update.tenant, changed.id, &update.stamp, kind)?;
    let stored = facts.conversation(&update.tenant, changed.id);
    let conversation = stored.map_or_else(
        || changed.clone(),
        |stored| updated_conversation(stored, changed),
    );
    let updated = (committed(at, at), conversation);
    Some(WriteOutcome::UpdateConversation(Some(updated)))
}

/// Returns the outcome of a deletion. Its range starts with the events of the turns that it cancelled,
/// directly before its own.
fn deletion(facts: &Facts, delete: &DeleteConversation) -> Option<DeleteOutcome> {
    let DeleteConversation {
        tenant, id, stamp, ..
    } = delete;
    let kind = EventType::ConversationDeleted;
    let last = conversation_event(facts, tenant, *id, stamp, kind)?;
    let mut first = last;
    let is_cancelled = |seq: Seq| {
        facts.logged.iter().any(|event| {
            event.tenant == *tenant
                && event.seq.plus(1) == seq
                && event.kind == EventType::TurnCancelled
                && event.conversation_id == Some(*id)
                && event.stamp == *stamp
        })
    };
    while is_cancelled(first) {
        first = Seq(first.0 - 1);
    }
    Some(DeleteOutcome::Deleted(committed(first, last)))
}

fn completed_turn_outcome(
    facts: &Facts,
    completed_turn: &CompletedTurn,
) -> Option<RecordTurnOutcome> {
    let begin = &completed_turn.begin;
    let started = turn_event(facts, begin, EventType::TurnStarted)?;
    let completed = turn_event(facts, begin, EventType::TurnCompleted)?;
    Some(RecordTurnOutcome::Recorded {
        committed: committed(first_event(facts, begin, started), completed),
        place: stored_place(facts, begin)?,
    })
}

/// Returns the outcome of a begin. A turn that was queued first is reported as queued, even if it has
/// started since.
fn begin_outcome(facts: &Facts, begin: &BeginTurn) -> Option<BeginOutcome> {
    if let Some(queued) = turn_event(facts, begin, EventType::TurnQueued) {
        return Some(BeginOutcome::Queued(committed(queued, queued)));
    }
    let started = turn_event(facts, begin, EventType::TurnStarted)?;
    Some(BeginOutcome::Started {
        committed: committed(first_event(facts, begin, started), started),
        place: stored_place(facts, begin)?,
    })
}

/// The messages of a turn that is stored.
fn stored_place(facts: &Facts, begin: &BeginTurn) -> Option<TurnMessages> {
    let row = facts.turn(&begin.tenant, begin.turn_id)?;
    let conversation = facts.conversation(&begin.tenant, begin.target.id());
    // A deleted conversation needs no further position.
    row.place(conversation.map_or(0, |found| found.last_message_seq))
}

/// Returns the outcome of an end. Only this node completes the turn, but a sweep may have failed it for
/// another reason, so the endings are compared.
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
    finish::to_promoted_turn(row, conversation)
}

fn turn_event(facts: &Facts, begin: &BeginTurn, kind: EventType) -> Option<Seq> {
    find_turn_event(facts, &begin.tenant, begin.turn_id, kind)
}

fn find_turn_event(facts: &Facts, tenant: &TenantId, turn: TurnId, kind: EventType) -> Option<Seq> {
    find_event(facts, tenant, kind, |event| event.turn_id == Some(turn))
}

/// The position of the first event of a turn, which may create its conversation or supersede
/// messages before its start.
fn first_event(facts: &Facts, begin: &BeginTurn, started: Seq) -> Seq {
    let first = match &begin.target {
        ConversationTarget::New(conversation) => conversation_event(
            facts,
            &begin.tenant,
            conversation.id,
            &begin.stamp,
            EventType::ConversationCreated,
        ),
        ConversationTarget::Existing { .. } => {
            turn_event(facts, begin, EventType::MessagesSuperseded)
        }
    };
    first.unwrap_or(started)
}

fn conversation_event(
    facts: &Facts,
    tenant: &TenantId,
    conversation: ConversationId,
    stamp: &Stamp,
    kind: EventType,
) -> Option<Seq> {
    find_event(facts, tenant, kind, |event| {
        event.conversation_id == Some(conversation) && event.stamp == *stamp
    })
}

fn agent_event(
    facts: &Facts,
    tenant: &TenantId,
    agent: AgentId,
    stamp: &Stamp,
    kind: EventType,
) -> Option<Seq> {
    find_event(facts, tenant, kind, |event| {
        event.agent_id == Some(agent) && event.stamp == *stamp
    })
}

/// Returns the position of the first event of this kind that matches.
fn find_event(
    facts: &Facts,
    tenant: &TenantId,
    kind: EventType,
    matches: impl Fn(&EventInDoubt) -> bool,
) -> Option<Seq> {
    let mut events = facts.logged.iter();
    events
        .find(|event| event.tenant == *tenant && event.kind == kind && matches(event))
        .map(|event| event.seq)
}
