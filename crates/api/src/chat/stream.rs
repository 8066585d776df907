//! A chat's answer as server-sent events.

use std::sync::Arc;

use application::chat::{Asked, Delta, StartedTurn, TurnSignal, TurnSignals};
use domain::{AgentId, ChatReply, ConversationId, MessageId, Problem, TurnId};
use futures::{Stream, stream};
use serde::Serialize;
use utoipa::ToSchema;

use crate::{problem::store_problem, sse::Event};

/// `turn.started`: the engine is about to be called.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct TurnStarted {
    /// The turn.
    turn_id: TurnId,
    /// Its conversation.
    conversation_id: ConversationId,
    /// The user's message.
    message_id: MessageId,
    /// Who answers.
    agent_id: AgentId,
    /// The version of the agent that answers.
    agent_version: i64,
}

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

/// `reply.delta`: more of the reply. Apply it only when `from` is what you have.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReplyDelta {
    /// The turn.
    turn_id: TurnId,
    /// Where the text begins in the reply, in UTF-8 bytes.
    from: usize,
    /// Where it ends.
    to: usize,
    /// The text.
    text: String,
}

/// What an event of a chat's stream carries, by its type.
#[derive(Debug, Serialize, ToSchema)]
#[serde(untagged)]
pub enum ChatEvent {
    /// Of `turn.started`.
    Started(TurnStarted),
    /// Of `reply.delta`.
    Delta(ReplyDelta),
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
        TurnSignal::Started(started) => ("turn.started", ChatEvent::Started(started.into())),
        TurnSignal::Delta(delta) => ("reply.delta", ChatEvent::Delta(delta.into())),
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

fn place(turn_id: TurnId, conversation_id: ConversationId) -> ChatEvent {
    ChatEvent::Place(TurnPlace {
        turn_id,
        conversation_id,
    })
}

impl From<StartedTurn> for TurnStarted {
    fn from(started: StartedTurn) -> Self {
        Self {
            turn_id: started.turn_id,
            conversation_id: started.conversation_id,
            message_id: started.message_id,
            agent_id: started.agent_id,
            agent_version: started.agent_version,
        }
    }
}

impl From<Delta> for ReplyDelta {
    fn from(delta: Delta) -> Self {
        Self {
            turn_id: delta.turn_id,
            from: delta.from,
            to: delta.to,
            text: delta.text,
        }
    }
}
