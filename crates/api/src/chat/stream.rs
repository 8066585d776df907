//! A chat's answer as server-sent events.

use std::sync::Arc;

use application::chat::{Asked, ReplyPiece, TurnSignal, TurnSignals};
use domain::{
    ChatReply, ConversationId, Problem, ReplyDelta, ToolCalled, ToolReturned, TurnId, TurnStarted,
};
use futures::{Stream, stream};
use serde::Serialize;
use utoipa::ToSchema;

use crate::{problem::store_problem, sse::Event};

/// `turn.queued`, `turn.cancelled`: where it happened.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct TurnPlace {
    /// The turn.
    turn_id: TurnId,
    /// Its conversation.
    conversation_id: ConversationId,
}

/// `turn.failed`: the turn ended without an answer.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct TurnFailed {
    /// The turn.
    turn_id: TurnId,
    /// Its conversation.
    conversation_id: ConversationId,
    /// Why.
    error: Problem,
}

/// What an event of a chat's stream carries, by its type.
#[derive(Debug, Serialize, ToSchema)]
#[serde(untagged)]
pub enum ChatEvent {
    /// Of `turn.started`.
    Started(TurnStarted),
    /// Of `reply.delta`.
    Delta(ReplyDelta),
    /// Of `tool.called`.
    ToolCalled(ToolCalled),
    /// Of `tool.returned`.
    ToolReturned(ToolReturned),
    /// Of `turn.completed`.
    Completed(ChatReply),
    /// Of `turn.failed`.
    Failed(TurnFailed),
    /// Of `turn.queued` and `turn.cancelled`.
    Place(TurnPlace),
}

/// What happens in a turn, as events.
pub(super) fn events(asked: Asked) -> impl Stream<Item = Event> {
    let place = (asked.turn_id, asked.conversation_id);
    stream::unfold(asked.signals(), move |signals| next(signals, place))
}

async fn next(
    mut signals: TurnSignals,
    (turn_id, conversation_id): (TurnId, ConversationId),
) -> Option<(Event, TurnSignals)> {
    let signal = signals.next().await?.unwrap_or_else(|error| {
        tracing::warn!(
            error = ports::error::chain(&error),
            "a streamed turn can no longer be followed"
        );
        TurnSignal::Failed {
            turn_id,
            conversation_id,
            error: Problem::new(store_problem(&error)),
        }
    });
    Some((event(signal), signals))
}

fn event(signal: TurnSignal) -> Event {
    let (name, data) = match signal {
        TurnSignal::Queued {
            turn_id,
            conversation_id,
        } => ("turn.queued", place(turn_id, conversation_id)),
        TurnSignal::Started(started) => ("turn.started", ChatEvent::Started(started)),
        TurnSignal::Reply(piece) => reply_event(piece),
        TurnSignal::Completed(reply) => ("turn.completed", ChatEvent::Completed(reply)),
        TurnSignal::Failed {
            turn_id,
            conversation_id,
            error,
        } => (
            "turn.failed",
            ChatEvent::Failed(TurnFailed {
                turn_id,
                conversation_id,
                error,
            }),
        ),
        TurnSignal::Cancelled {
            turn_id,
            conversation_id,
        } => ("turn.cancelled", place(turn_id, conversation_id)),
    };
    Event {
        id: None,
        name,
        // Made of text and numbers: serializing cannot fail.
        data: Arc::from(serde_json::to_string(&data).unwrap_or_default()),
    }
}

fn reply_event(piece: ReplyPiece) -> (&'static str, ChatEvent) {
    match piece {
        ReplyPiece::Delta(delta) => ("reply.delta", ChatEvent::Delta(delta)),
        ReplyPiece::ToolCalled(call) => ("tool.called", ChatEvent::ToolCalled(call)),
        ReplyPiece::ToolReturned(call) => ("tool.returned", ChatEvent::ToolReturned(call)),
    }
}

fn place(turn_id: TurnId, conversation_id: ConversationId) -> ChatEvent {
    ChatEvent::Place(TurnPlace {
        turn_id,
        conversation_id,
    })
}
