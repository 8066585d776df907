//! The response with the events of a run.

use access::CredentialWatch;
use actix_web::{HttpRequest, HttpResponse};
use application::{chat::AcceptedTurn, live_turns::TurnEventStream};
use domain::{Problem, ProblemCode};
use futures::{StreamExt as _, stream};
use kit::{
    auth::Authorized,
    problem::store_problem,
    sse::{self, Frame},
    state::HttpState,
};
use ports::StreamSlot;
use server::ConnectionState;
use tokio_util::sync::CancellationToken;

use super::run_events::RunEvents;

/// A run whose events are being sent.
struct OpenRun {
    events: RunEvents,
    turn: TurnEventStream,
    credential: CredentialWatch,
    /// Cancelled when the server stops listening.
    closing: CancellationToken,
    _slot: Option<StreamSlot>,
}

/// Returns the response with the events of a run. `slot` is the caller's open stream.
///
/// However the stream ends, its last event ends the run: clients take a stream without one for a
/// complete reply. Closing the stream does not end the turn.
pub(super) fn respond<R>(
    state: &HttpState,
    authorized: &Authorized<R>,
    request: &HttpRequest,
    slot: Option<StreamSlot>,
    (events, turn): (RunEvents, AcceptedTurn),
) -> HttpResponse {
    let open = OpenRun {
        events,
        turn: turn.events(),
        credential: authorized.watch_credential(state),
        closing: state.closing.clone(),
        _slot: slot,
    };
    let client_closed = ConnectionState::of(request).client_closed();
    sse::stream(stream::unfold(open, next).take_until(Box::pin(client_closed)))
}

/// Returns the response with events that have all been emitted.
pub(super) fn respond_at_once(mut events: RunEvents) -> HttpResponse {
    sse::stream(stream::iter([Frame::Events(events.take())]))
}

/// Waits for the next events. Those that are ready together are sent in one piece.
async fn next(mut open: OpenRun) -> Option<(Frame, OpenRun)> {
    loop {
        while !open.events.has_ended()
            && let Some(event) = open.turn.next_ready()
        {
            open.events.add_turn_event(event);
        }
        let events = open.events.take();
        if !events.is_empty() {
            return Some((Frame::Events(events), open));
        }
        if open.events.has_ended() {
            return None;
        }
        open.wait().await;
    }
}

impl OpenRun {
    /// Waits for the next event of the turn, or for a reason to end before it.
    async fn wait(&mut self) {
        let runs_here = self.turn.runs_here();
        let problem = tokio::select! {
            biased;
            event = self.turn.next() => match event {
                Some(Ok(event)) => return self.events.add_turn_event(event),
                Some(Err(error)) => {
                    tracing::warn!(
                        error = ports::error::one_line(&error),
                        "run cannot read its turn from the store; reporting it as failed to the client"
                    );
                    store_problem(&error)
                }
                None => ProblemCode::Internal,
            },
            end = self.credential.ended() => end.into(),
            // A turn that runs here ends before the process does.
            () = self.closing.cancelled(), if !runs_here => ProblemCode::Draining,
        };
        self.events.fail(&Problem::new(problem));
    }
}
