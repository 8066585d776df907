//! The response to a chat as server-sent events.

use application::{
    chat::AcceptedTurn,
    live_turns::{ReplyPiece, TurnEvent, TurnEventStream},
};
use domain::{
    ChatReply, ConversationId, Problem, ReplyDelta, ToolCalled, ToolReturned, TurnId, TurnStarted,
};
use futures::{Stream, stream};
use serde::Serialize;
use utoipa::ToSchema;

use crate::{problem::store_problem, sse::Event};

/// The data of `turn.queued` and `turn.cancelled`: the turn and its conversation.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct TurnPlace {
    /// The turn.
    turn_id: TurnId,
    /// Its conversation; null if nothing is stored.
    conversation_id: Option<ConversationId>,
}

/// The data of `turn.failed`: the turn ended without a reply.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct TurnFailed {
    /// The turn.
    turn_id: TurnId,
    /// Its conversation; null if nothing is stored.
    conversation_id: Option<ConversationId>,
    /// The reason.
    error: Problem,
}

/// The data of an event in the stream of a chat. `type` is the name of the event.
#[derive(Debug, Serialize, ToSchema)]
#[serde(tag = "type")]
pub enum ChatEvent {
    /// The turn waits for the turns before it.
    #[serde(rename = "turn.queued")]
    Queued(TurnPlace),
    /// The turn has started, and the engine is about to be called.
    #[serde(rename = "turn.started")]
    Started(TurnStarted),
    /// The next piece of the reply. Apply it only if `from` is the length of the text received so
    /// far. Offsets are in bytes of UTF-8.
    #[serde(rename = "reply.delta")]
    Delta(ReplyDelta),
    /// The engine calls a tool.
    #[serde(rename = "tool.called")]
    ToolCalled(ToolCalled),
    /// A tool call has ended. Calls end in the order in which they were made.
    #[serde(rename = "tool.returned")]
    ToolReturned(ToolReturned),
    /// The turn is completed; contains the whole reply.
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
    /// Returns the name of the event.
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

/// Returns the events of a turn.
pub(super) fn events(accepted: AcceptedTurn) -> impl Stream<Item = Event> {
    let ids = (accepted.turn_id, accepted.conversation_id);
    stream::unfold(accepted.events(), move |events| next(events, ids))
}

async fn next(
    mut events: TurnEventStream,
    (turn_id, conversation_id): (TurnId, ConversationId),
) -> Option<(Event, TurnEventStream)> {
    let turn_event = events.next().await?.unwrap_or_else(|error| {
        tracing::warn!(
            error = ports::error::one_line(&error),
            "chat stream cannot read its turn from the store; reporting the turn as failed to the client"
        );
        TurnEvent::Failed {
            turn_id,
            conversation_id: Some(conversation_id),
            error: Problem::new(store_problem(&error)),
        }
    });
    Some((event(turn_event), events))
}

fn event(turn_event: TurnEvent) -> Event {
    let data = match turn_event {
        TurnEvent::Queued {
            turn_id,
            conversation_id,
        } => ChatEvent::Queued(TurnPlace {
            turn_id,
            conversation_id,
        }),
        TurnEvent::Started(started) => ChatEvent::Started(started),
        TurnEvent::Reply(ReplyPiece::Delta(delta)) => ChatEvent::Delta(delta),
        TurnEvent::Reply(ReplyPiece::ToolCalled(call)) => ChatEvent::ToolCalled(call),
        TurnEvent::Reply(ReplyPiece::ToolReturned(call)) => ChatEvent::ToolReturned(call),
        TurnEvent::Completed(reply) => ChatEvent::Completed(reply),
        TurnEvent::Failed {
            turn_id,
            conversation_id,
            error,
        } => ChatEvent::Failed(TurnFailed {
            turn_id,
            conversation_id,
            error,
        }),
        TurnEvent::Cancelled {
            turn_id,
            conversation_id,
        } => ChatEvent::Cancelled(TurnPlace {
            turn_id,
            conversation_id,
        }),
    };
    Event {
        name: Some(data.name()),
        ..Event::json(&data)
    }
}
