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

/// The data of an event of a chat's stream. Its `type` is the event's.
#[derive(Debug, Serialize, ToSchema)]
#[serde(tag = "type")]
pub enum ChatEvent {
    /// The turn waits for the one before it.
    #[serde(rename = "turn.queued")]
    Queued(TurnPlace),
    /// The turn has started, and the engine is about to be called.
    #[serde(rename = "turn.started")]
    Started(TurnStarted),
    /// More of the reply. Apply it only when `from` is what you have. Places are counted in bytes of
    /// UTF-8.
    #[serde(rename = "reply.delta")]
    Delta(ReplyDelta),
    /// The engine calls a tool.
    #[serde(rename = "tool.called")]
    ToolCalled(ToolCalled),
    /// A call of a tool has ended. Calls end in the order in which they were made.
    #[serde(rename = "tool.returned")]
    ToolReturned(ToolReturned),
    /// The turn is completed: the whole reply.
    #[serde(rename = "turn.completed")]
    Completed(ChatReply),
    /// The turn ended without a reply.
    #[serde(rename = "turn.failed")]
    Failed(TurnFailed),
    /// The turn was cancelled.
    #[serde(rename = "turn.cancelled")]
    Cancelled(TurnPlace),
}

impl ChatEvent {
    /// The event's type.
    const fn name(&self) -> &'static str {
        match self {
            Self::Queued(_) => "turn.queued",
            Self::Started(_) => "turn.started",
            Self::Delta(_) => "reply.delta",
            Self::ToolCalled(_) => "tool.called",
            Self::ToolReturned(_) => "tool.returned",
            Self::Completed(_) => "turn.completed",
            Self::Failed(_) => "turn.failed",
            Self::Cancelled(_) => "turn.cancelled",
        }
    }
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
    let data = match signal {
        TurnSignal::Queued {
            turn_id,
            conversation_id,
        } => ChatEvent::Queued(TurnPlace {
            turn_id,
            conversation_id,
        }),
        TurnSignal::Started(started) => ChatEvent::Started(started),
        TurnSignal::Reply(ReplyPiece::Delta(delta)) => ChatEvent::Delta(delta),
        TurnSignal::Reply(ReplyPiece::ToolCalled(call)) => ChatEvent::ToolCalled(call),
        TurnSignal::Reply(ReplyPiece::ToolReturned(call)) => ChatEvent::ToolReturned(call),
        TurnSignal::Completed(reply) => ChatEvent::Completed(reply),
        TurnSignal::Failed {
            turn_id,
            conversation_id,
            error,
        } => ChatEvent::Failed(TurnFailed {
            turn_id,
            conversation_id,
            error,
        }),
        TurnSignal::Cancelled {
            turn_id,
            conversation_id,
        } => ChatEvent::Cancelled(TurnPlace {
            turn_id,
            conversation_id,
        }),
    };
    Event {
        id: None,
        name: data.name(),
        // Made of text and numbers: serializing cannot fail.
        data: Arc::from(serde_json::to_string(&data).unwrap_or_default()),
    }
}
