//! The response to a chat as server-sent events.

use actix_web::web::Data;
use application::{
    chat::AcceptedTurn,
    live_turns::{ReplyPiece, TurnEvent, TurnEventStream},
};
use domain::{
    ChatReply, ConversationId, Principal, Problem, ReplyDelta, Scope, Seq, TenantId, ToolCalled,
    ToolReturned, TurnId, TurnStarted,
};
use futures::{Stream, stream};
use serde::Serialize;
use utoipa::ToSchema;

use crate::{problem::store_problem, sse::Event, state::HttpState};

/// The data of `turn.queued` and `turn.cancelled`: the turn and its conversation.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct TurnPlace {
    /// The turn.
    turn_id: TurnId,
    /// Its conversation; null if nothing is stored.
    conversation_id: Option<ConversationId>,
    /// A position of the event log at which the turn has ended; absent before its end, and if nothing
    /// is stored.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    seq: Option<Seq>,
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
    /// A position of the event log at which the turn has ended; absent if nothing is stored.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    seq: Option<Seq>,
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

/// The turn whose events are streamed.
struct StreamedTurn {
    state: Data<HttpState>,
    tenant: TenantId,
    /// True if the caller may know why engines fail.
    is_told_causes: bool,
    turn_id: TurnId,
    conversation_id: ConversationId,
    events: TurnEventStream,
}

/// Returns the events of a turn for this caller.
pub fn events(
    state: &Data<HttpState>,
    caller: &Principal,
    accepted: AcceptedTurn,
) -> impl Stream<Item = Event> + use<> {
    let turn = StreamedTurn {
        state: state.clone(),
        tenant: caller.tenant.clone(),
        is_told_causes: caller.scopes.contains(Scope::AgentsWrite),
        turn_id: accepted.turn_id,
        conversation_id: accepted.conversation_id,
        events: accepted.events(),
    };
    stream::unfold(turn, async |mut turn| {
        let event = turn.next().await?;
        Some((event, turn))
    })
}

impl StreamedTurn {
    async fn next(&mut self) -> Option<Event> {
        let mut turn_event = self.events.next().await?.unwrap_or_else(|error| {
            tracing::warn!(
                error = ports::error::one_line(&error),
                "chat stream cannot read its turn from the store; reporting the turn as failed to the client"
            );
            TurnEvent::Failed {
                turn_id: self.turn_id,
                conversation_id: Some(self.conversation_id),
                error: Problem::new(store_problem(&error)),
            }
        });
        if let TurnEvent::Failed { error, .. } = &mut turn_event
            && self.is_told_causes
        {
            *error = error.clone().with_cause_told();
        }
        let seq = self.position_after(&turn_event).await;
        Some(event(turn_event, seq))
    }

    /// Returns a position at which the turn has ended, if this event is its end.
    async fn position_after(&self, turn_event: &TurnEvent) -> Option<Seq> {
        let stored = match turn_event {
            TurnEvent::Completed(ChatReply { seq: Some(seq), .. }) => return Some(*seq),
            TurnEvent::Completed(reply) => reply.conversation_id,
            TurnEvent::Failed {
                conversation_id, ..
            }
            | TurnEvent::Cancelled {
                conversation_id, ..
            } => *conversation_id,
            _ => None,
        };
        stored?;
        // Another process may have ended the turn.
        let position = self.state.region.positions.newest(&self.tenant, false);
        match position.await {
            Ok(position) => Some(position),
            Err(error) => {
                let error = ports::error::one_line(&error);
                tracing::warn!(error, "the end of a chat stream has no position");
                None
            }
        }
    }
}

fn event(turn_event: TurnEvent, seq: Option<Seq>) -> Event {
    let data = match turn_event {
        TurnEvent::Queued {
            turn_id,
            conversation_id,
        } => ChatEvent::Queued(TurnPlace {
            turn_id,
            conversation_id,
            seq,
        }),
        TurnEvent::Started(started) => ChatEvent::Started(started),
        TurnEvent::Reply(ReplyPiece::Delta(delta)) => ChatEvent::Delta(delta),
        TurnEvent::Reply(ReplyPiece::ToolCalled(call)) => ChatEvent::ToolCalled(call),
        TurnEvent::Reply(ReplyPiece::ToolReturned(call)) => ChatEvent::ToolReturned(call),
        TurnEvent::Completed(reply) => ChatEvent::Completed(ChatReply { seq, ..reply }),
        TurnEvent::Failed {
            turn_id,
            conversation_id,
            error,
        } => ChatEvent::Failed(TurnFailed {
            turn_id,
            conversation_id,
            error,
            seq,
        }),
        TurnEvent::Cancelled {
            turn_id,
            conversation_id,
        } => ChatEvent::Cancelled(TurnPlace {
            turn_id,
            conversation_id,
            seq,
        }),
    };
    Event {
        name: Some(data.name().into()),
        ..Event::json(&data)
    }
}
