//! The reply of a turn to its caller: whole, or its events as they happen, in the form of any wire.

use std::pin::Pin;

use access::{CredentialEnd, CredentialWatch};
use actix_web::{HttpRequest, HttpResponse};
use application::{
    chat::AcceptedTurn,
    live_turns::{CompletedChat, TurnEventStream},
};
use domain::{ProblemCode, TurnEvent};
use futures::stream;
use ports::{RepositoryError, StreamSlot};
use server::ConnectionState;
use tokio_util::sync::CancellationToken;

use crate::{
    auth::Authorized,
    problem::{ApiError, store_problem},
    sse::{self, Events, Frame},
    state::HttpState,
};

/// Converts the events of a turn into what a wire sends.
pub trait TurnEncoder {
    /// The output that was not taken yet.
    type Output;

    /// True if the wire can begin a reply anew, after another process has taken over its turn.
    const CAN_RESTART: bool = false;

    /// Adds what is sent for an event.
    fn add(&mut self, event: TurnEvent, output: &mut Self::Output) -> impl Future<Output = ()>;

    /// Returns the turn whose events follow in place of this last one, if it goes on.
    fn next_turn(&mut self, _last: &TurnEvent) -> impl Future<Output = Option<AcceptedTurn>> {
        async { None }
    }
}

/// The converter of a wire of server-sent events.
pub trait StreamEncoder: TurnEncoder<Output = Events> {
    /// True if a response that ends before its turn is cut: its clients would take an end for that of
    /// the reply.
    const IS_CUT: bool = false;
    /// True if a response ends when the server stops listening, so that the client continues on the
    /// node that runs the turn.
    const MOVES: bool = false;

    /// Adds the last events of a response that ends before its turn, unless it is cut.
    fn interrupt(
        &mut self,
        _reason: Interruption,
        _events: &mut Events,
    ) -> impl Future<Output = ()> {
        async {}
    }
}

/// The reason why a response ends before its turn, which continues.
pub enum Interruption {
    /// The client has closed the connection.
    ClientClosed,
    /// The credential has expired or was revoked.
    CredentialEnded(CredentialEnd),
    /// The store has been unavailable for too long.
    Unreadable(RepositoryError),
    /// The server has stopped listening, or leaves the turn to another process.
    Closing,
    /// Another process has taken over the turn, and writes the reply anew.
    Restarted,
}

impl Interruption {
    /// Returns the problem that a client receives, if it still listens.
    pub fn problem(self) -> Option<ProblemCode> {
        match self {
            Self::ClientClosed => None,
            Self::CredentialEnded(end) => Some(end.into()),
            Self::Unreadable(error) => Some(store_problem(&error)),
            Self::Closing => Some(ProblemCode::Draining),
            Self::Restarted => Some(ProblemCode::Interrupted),
        }
    }
}

/// A turn whose events are converted for a wire.
pub struct EncodedTurn<E: TurnEncoder> {
    /// The events that were not converted yet.
    pub events: TurnEventStream,
    /// The converter.
    pub encoder: E,
    /// The output that was not sent yet.
    pub output: E::Output,
    has_ended: bool,
    /// The attempt to run the turn whose text was converted.
    attempt: Option<u32>,
    has_text: bool,
    /// Why the turn cannot be converted to its end.
    interrupted: Option<Interruption>,
}

impl<E: TurnEncoder> EncodedTurn<E> {
    /// Converts the events of a turn from its beginning; `output` precedes them.
    pub fn new(turn: AcceptedTurn, encoder: E, output: E::Output) -> Self {
        Self {
            events: turn.events(),
            encoder,
            output,
            has_ended: false,
            attempt: None,
            has_text: false,
            interrupted: None,
        }
    }

    /// Waits for the next event, and converts it with those that are ready too.
    pub async fn advance(&mut self) -> Result<(), RepositoryError> {
        match self.events.next().await {
            Some(event) => self.add(event?).await,
            None => self.has_ended = true,
        }
        while let Some(event) = self.events.next_ready() {
            self.add(event).await;
        }
        Ok(())
    }

    /// Converts an event.
    pub async fn add(&mut self, event: TurnEvent) {
        if self.interrupted.is_some() {
            return;
        }
        self.interrupted = self.interruption(&event);
        if self.interrupted.is_none() {
            if event.is_last()
                && let Some(turn) = self.encoder.next_turn(&event).await
            {
                self.events = turn.events();
                return;
            }
            self.has_ended |= event.is_last();
            self.encoder.add(event, &mut self.output).await;
        }
    }

    /// Returns why the turn cannot be converted beyond an event.
    fn interruption(&mut self, event: &TurnEvent) -> Option<Interruption> {
        match event {
            // The turn goes on elsewhere.
            TurnEvent::Failed(failed) if failed.error.code == ProblemCode::Draining => {
                Some(Interruption::Closing)
            }
            TurnEvent::Delta(delta) => {
                let is_other = std::mem::replace(&mut self.attempt, delta.attempt) != delta.attempt;
                let had_text = std::mem::replace(&mut self.has_text, true);
                let is_restarted = is_other && had_text && !E::CAN_RESTART;
                is_restarted.then_some(Interruption::Restarted)
            }
            _ => None,
        }
    }

    /// Takes the reason why the turn cannot be converted to its end.
    pub const fn take_interruption(&mut self) -> Option<Interruption> {
        self.interrupted.take()
    }

    /// Returns whether the last event was converted.
    pub const fn has_ended(&self) -> bool {
        self.has_ended
    }
}

/// A response that is being sent.
struct OpenResponse<E: StreamEncoder> {
    turn: EncodedTurn<E>,
    /// Ends when the credential does, or the client disconnects.
    end: Pin<Box<dyn Future<Output = Interruption>>>,
    closing: CancellationToken,
    _slot: Option<StreamSlot>,
}

/// Returns the response with the events of a turn. `slot` is the caller's open stream.
pub fn respond<R, E: StreamEncoder + 'static>(
    state: &HttpState,
    authorized: &Authorized<R>,
    request: &HttpRequest,
    slot: Option<StreamSlot>,
    turn: EncodedTurn<E>,
) -> HttpResponse {
    let open = OpenResponse {
        turn,
        end: end_of_connection(state, authorized, request),
        closing: state.closing.clone(),
        _slot: slot,
    };
    sse::stream(stream::unfold(open, async |mut open| {
        let frame = open.next().await?;
        Some((frame, open))
    }))
}

/// Waits until the credential ends, or the client disconnects.
pub fn end_of_connection<R>(
    state: &HttpState,
    authorized: &Authorized<R>,
    request: &HttpRequest,
) -> Pin<Box<dyn Future<Output = Interruption>>> {
    let watch = authorized.watch_credential(state);
    Box::pin(end(watch, ConnectionState::of(request).client_closed()))
}

async fn end(mut watch: CredentialWatch, client_closed: impl Future<Output = ()>) -> Interruption {
    tokio::select! {
        end = watch.ended() => Interruption::CredentialEnded(end),
        () = client_closed => Interruption::ClientClosed,
    }
}

impl<E: StreamEncoder> OpenResponse<E> {
    /// Waits for the next events. Those that are ready together are sent in one piece.
    async fn next(&mut self) -> Option<Frame> {
        while self.turn.output.is_empty() {
            if self.turn.has_ended {
                return None;
            }
            // A turn that runs here ends before the process does.
            let moves = E::MOVES && !self.turn.events.runs_here();
            let interruption = tokio::select! {
                // A credential that has ended reads no further event.
                biased;
                reason = &mut self.end => Some(reason),
                advanced = self.turn.advance() => advanced.err().map(Interruption::Unreadable),
                () = self.closing.cancelled(), if moves => Some(Interruption::Closing),
            };
            let interruption = interruption.or_else(|| self.turn.take_interruption());
            if let Some(reason) = interruption
                && let Some(cut) = self.interrupt(reason).await
            {
                return Some(cut);
            }
        }
        Some(Frame::Events(self.turn.output.take()))
    }

    /// Ends the response before its turn.
    async fn interrupt(&mut self, reason: Interruption) -> Option<Frame> {
        if let Interruption::Unreadable(error) = &reason {
            let error = ports::error::one_line(error);
            tracing::warn!(
                error,
                "cannot read a turn from the store; ending its stream early"
            );
        }
        self.turn.has_ended = true;
        if E::IS_CUT {
            return Some(Frame::Cut);
        }
        let EncodedTurn {
            encoder, output, ..
        } = &mut self.turn;
        encoder.interrupt(reason, output).await;
        None
    }
}

/// Waits for the whole reply. A turn that is not stored ends with the connection of its request.
pub async fn whole_reply(
    request: &HttpRequest,
    accepted: AcceptedTurn,
    is_stored: bool,
) -> Result<CompletedChat, ApiError> {
    let closed = ConnectionState::of(request).client_closed();
    tokio::select! {
        completed = accepted.reply() => Ok(completed?),
        () = closed, if !is_stored => Err(ProblemCode::TurnCancelled.into()),
    }
}
