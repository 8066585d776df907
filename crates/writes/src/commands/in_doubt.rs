//! The events of an earlier attempt whose commit was not confirmed.
//!
//! They prove it, since other writes may have changed its rows again. They are read under the tenant
//! lock, which waits until the transaction of the earlier attempt has ended.

use domain::{ConversationId, EventType, NodeId, Seq, TenantId, TurnStatus};
use ports::{
    Facts,
    write_store::{EventInDoubt, TurnRow},
};

use super::{ending::Ended, promotion::promoted_turn};
use crate::{BeginTurn, Committed, ConversationTarget, PromotedTurn, TurnMessages};

/// Returns the position of the first event of this kind that matches.
pub(super) fn find(
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
pub(super) fn stored_messages(facts: &Facts, begin: &BeginTurn) -> Option<TurnMessages> {
    let row = facts.turn(&begin.tenant, begin.turn_id)?;
    let conversation = facts.conversation(&begin.tenant, begin.target.id());
    TurnMessages::of(row, conversation)
}

/// The position of the first event of a turn, which may create its conversation or supersede
/// messages before its start.
pub(super) fn first_event(facts: &Facts, begin: &BeginTurn, started: Seq) -> Seq {
    let first = match &begin.target {
        ConversationTarget::New(conversation) => {
            let kind = EventType::ConversationCreated;
            find(facts, &begin.tenant, kind, |event| {
                event.conversation_id == Some(conversation.id) && event.stamp == begin.stamp
            })
        }
        ConversationTarget::Existing { .. } => {
            let kind = EventType::MessagesSuperseded;
            find(facts, &begin.tenant, kind, |event| {
                event.turn_id == Some(begin.turn_id)
            })
        }
    };
    first.unwrap_or(started)
}

/// The stored outcome of ending a turn with the event at `first`. It may have started the next turn of
/// the conversation on `node`.
pub(super) fn ended(
    facts: &Facts,
    key: (&TenantId, ConversationId),
    node: Option<NodeId>,
    first: Seq,
) -> Ended {
    let promoted = node.and_then(|node| promoted_turn_after(facts, key, node, first));
    Ended {
        committed: Committed {
            first,
            last: promoted.as_ref().map_or(first, |_| first.plus(1)),
        },
        promoted: promoted.map(Box::new),
    }
}

/// The turn that `node` started with the event after the end of another turn of the conversation. A
/// turn that has ended since needs no runner. A continuation is left to a sweep: it begins with entries,
/// which are not among the facts.
fn promoted_turn_after(
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
        .filter(|row| row.turn.status == TurnStatus::InProgress && row.node == Some(node))
        .filter(|row| row.turn.continues.is_none())?;
    promoted_turn(row, facts.conversation(tenant, conversation)?)
}
