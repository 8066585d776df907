//! The response to a chat as server-sent events.

use actix_web::{HttpRequest, HttpResponse, web::Data};
use application::chat::AcceptedTurn;
use domain::{
    ConversationId, Principal, Problem, Scope, Seq, TenantId, TurnEvent, TurnFailed, TurnId,
};
use ports::StreamSlot;

use kit::{
    auth::Authorized,
    problem::store_problem,
    sse::Events,
    state::HttpState,
    turn_stream::{EncodedTurn, Interruption, StreamEncoder, TurnEncoder, respond},
};

/// Returns the response with the events of a turn. `slot` is the caller's open stream.
pub(crate) fn stream_turn<R>(
    state: &Data<HttpState>,
    authorized: &Authorized<R>,
    request: &HttpRequest,
    slot: Option<StreamSlot>,
    accepted: AcceptedTurn,
) -> HttpResponse {
    let events = ChatEvents::new(state.clone(), authorized.caller(), &accepted);
    let turn = EncodedTurn::new(accepted, events, Events::default());
    respond(state, authorized, request, slot, turn)
}

/// Sends the events of a turn as they are, with the positions of its end.
struct ChatEvents {
    state: Data<HttpState>,
    tenant: TenantId,
    /// True if the caller may know why engines fail.
    is_told_causes: bool,
    turn_id: TurnId,
    conversation_id: ConversationId,
}

impl ChatEvents {
    fn new(state: Data<HttpState>, caller: &Principal, accepted: &AcceptedTurn) -> Self {
        Self {
            state,
            tenant: caller.tenant.clone(),
            is_told_causes: caller.scopes.contains(Scope::AgentsWrite),
            turn_id: accepted.turn_id,
            conversation_id: accepted.conversation_id,
        }
    }

    /// Returns a position at which a turn of this conversation has ended.
    async fn position(&self, stored: Option<ConversationId>) -> Option<Seq> {
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

impl TurnEncoder for ChatEvents {
    type Output = Events;

    const CAN_RESTART: bool = true;

    async fn add(&mut self, mut event: TurnEvent, events: &mut Events) {
        match &mut event {
            TurnEvent::Completed(reply) if reply.seq.is_none() => {
                reply.seq = self.position(reply.conversation_id).await;
            }
            TurnEvent::Failed(failed) => {
                if self.is_told_causes {
                    failed.error = failed.error.clone().with_cause_told();
                }
                failed.seq = self.position(failed.conversation_id).await;
            }
            TurnEvent::Cancelled(place) => {
                place.seq = self.position(place.conversation_id).await;
            }
            _ => {}
        }
        events.push(Some(event.name()), None::<&str>, &event);
    }
}

impl StreamEncoder for ChatEvents {
    /// Only a turn that can no longer be read is reported as failed.
    async fn interrupt(&mut self, reason: Interruption, events: &mut Events) {
        let Interruption::Unreadable(error) = reason else {
            return;
        };
        let failed = TurnEvent::Failed(TurnFailed {
            turn_id: self.turn_id,
            conversation_id: Some(self.conversation_id),
            error: Problem::new(store_problem(&error)),
            seq: None,
        });
        self.add(failed, events).await;
    }
}
