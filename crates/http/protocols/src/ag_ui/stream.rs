//! The response with the events of a run.

use actix_web::{HttpRequest, HttpResponse};
use application::chat::AcceptedTurn;
use domain::{Problem, TurnEvent};
use futures::stream;
use kit::{
    auth::Authorized,
    sse::{self, Events},
    state::HttpState,
    turn_stream::{self, EncodedTurn, Interruption, StreamEncoder, TurnEncoder},
};
use ports::StreamSlot;

use super::run_events::RunEvents;

impl TurnEncoder for RunEvents {
    type Output = Events;

    async fn add(&mut self, event: TurnEvent, events: &mut Events) {
        self.add_turn_event(event);
        self.take_into(events);
    }
}

/// However the stream ends, its last event ends the run: clients take a stream without one for a
/// complete reply. Closing the stream does not end the turn.
impl StreamEncoder for RunEvents {
    const MOVES: bool = true;

    async fn interrupt(&mut self, reason: Interruption, events: &mut Events) {
        if let Some(problem) = reason.problem() {
            self.fail(&Problem::new(problem));
            self.take_into(events);
        }
    }
}

/// Returns the response with the events of a run. `slot` is the caller's open stream.
pub(super) fn respond<R>(
    state: &HttpState,
    authorized: &Authorized<R>,
    request: &HttpRequest,
    slot: Option<StreamSlot>,
    (mut events, turn): (RunEvents, AcceptedTurn),
) -> HttpResponse {
    let mut first = Events::default();
    events.take_into(&mut first);
    let turn = EncodedTurn::new(turn, events, first);
    turn_stream::respond(state, authorized, request, slot, turn)
}

/// Returns the response with events that have all been emitted.
pub(super) fn respond_at_once(mut run: RunEvents) -> HttpResponse {
    let mut events = Events::default();
    run.take_into(&mut events);
    sse::stream(stream::iter([events.into()]))
}
