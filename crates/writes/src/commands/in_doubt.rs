//! The events of an earlier attempt whose commit was not confirmed.
//!
//! They prove it, since other writes may have changed its rows again. They are read under the tenant
//! lock, which waits until the transaction of the earlier attempt has ended.

use domain::{
    AgentId, ConversationId, EventType, NodeId, Seq, Stamp, TenantId, TurnId, TurnStatus,
};
use ports::{
    BeginTurn, ConversationTarget, Facts, PromotedTurn, TurnMessages,
    write_store::{EventInDoubt, TurnRow},
};

use super::finish_turn::to_promoted_turn;

/// Returns the position of a turn's event of this kind.
pub(super) fn turn_event(
    facts: &Facts,
    tenant: &TenantId,
    turn: TurnId,
    kind: EventType,
) -> Option<Seq> {
    find_event(facts, tenant, kind, |event| event.turn_id == Some(turn))
}

/// Returns the position of a turn's event of this kind, with this stamp.
pub(super) fn stamped_turn_event(
    facts: &Facts,
    tenant: &TenantId,
    turn: TurnId,
    stamp: &Stamp,
    kind: EventType,
) -> Option<Seq> {
    find_event(facts, tenant, kind, |event| {
        event.turn_id == Some(turn) && event.stamp == *stamp
    })
}

/// Returns the position of a conversation's event of this kind, with this stamp.
pub(super) fn conversation_event(
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

/// Returns the position of an agent's event of this kind, with this stamp.
pub(super) fn agent_event(
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

/// The messages of a turn that is stored.
pub(super) fn stored_place(facts: &Facts, begin: &BeginTurn) -> Option<TurnMessages> {
    let row = facts.turn(&begin.tenant, begin.turn_id)?;
    let conversation = facts.conversation(&begin.tenant, begin.target.id());
    // A deleted conversation needs no further position.
    row.place(conversation.map_or(0, |found| found.last_message_seq))
}

/// The position of the first event of a turn, which may create its conversation or supersede
/// messages before its start.
pub(super) fn first_event(facts: &Facts, begin: &BeginTurn, started: Seq) -> Seq {
    let first = match &begin.target {
        ConversationTarget::New(conversation) => conversation_event(
            facts,
            &begin.tenant,
            conversation.id,
            &begin.stamp,
            EventType::ConversationCreated,
        ),
        ConversationTarget::Existing { .. } => turn_event(
            facts,
            &begin.tenant,
            begin.turn_id,
            EventType::MessagesSuperseded,
        ),
    };
    first.unwrap_or(started)
}

/// The turn that `node` started with the event after the end of another turn of the conversation. A
/// turn that has ended since needs no runner.
pub(super) fn promoted_turn(
    facts: &Facts,
    (tenant, conversation): (&TenantId, ConversationId),
    node: NodeId,
    ended: Seq,
) -> Option<PromotedTurn> {
    let start = facts.logged.iter().find(|event| {
        event.tenant == *tenant
            && event.seq == ended.plus(1)
            && event.kind == EventType::TurnStarted
            && event.conversation_id == Some(conversation)
    })?;
    let row: &TurnRow = facts
        .turn(tenant, start.turn_id?)
        .filter(|row| row.turn.status == TurnStatus::InProgress && row.node == Some(node))?;
    to_promoted_turn(row, facts.conversation(tenant, conversation)?)
}
