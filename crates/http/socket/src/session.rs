//! The task that serves one socket from its first frame to its close.

use std::{future::pending, rc::Rc};

use actix_ws::{AggregatedMessage, AggregatedMessageStream, CloseReason, ProtocolError};
use futures::{StreamExt as _, future::LocalBoxFuture, stream::FuturesUnordered};
use server::ConnectionState;
use tokio::time::Instant;

use super::{
    CloseCode, CommandRate, SendQueue, SendQueueFull,
    command_rate::RejectionCounter,
    commands::{CommandError, CommandOutcome},
    context::{AdmittedCaller, Context},
    deadlines::{Deadlines, DueAction, Timer},
    frames::{ServerFrame, encode},
    socket_metrics::SocketMetrics,
    subscriber::{Subscriber, SubscriberEvent},
};

mod ending;
mod inbound;
mod outcomes;

pub(super) use self::inbound::MAX_RUNNING_WITH_SHORT;

/// One socket.
pub(super) struct Session {
    context: Rc<Context>,
    messages: AggregatedMessageStream,
    send_queue: SendQueue,
    commands: FuturesUnordered<LocalBoxFuture<'static, Finished>>,
    /// The subscriber; `None` before `connect` if the upgrade carried no credential.
    subscriber: Option<Box<Subscriber>>,
    /// True if a `connect` is running: later frames are not read meanwhile.
    is_connecting: bool,
    has_connected: bool,
    deadlines: Deadlines,
    timer: Timer,
    rate: CommandRate,
    opened_at: Instant,
    rejections: RejectionCounter,
    progress: ConnectionState,
}

/// A command that has ended.
struct Finished {
    id: u64,
    is_connect: bool,
    result: Result<CommandOutcome, CommandError>,
}

/// An event that the task handles.
enum SessionEvent {
    Message(Option<Result<AggregatedMessage, ProtocolError>>),
    Finished(Finished),
    SubscriberEvent(SubscriberEvent),
    SendQueueChanged,
    Timer,
    Closing,
}

/// The end of a socket.
enum End {
    /// The server closes the socket.
    Close(CloseCode),
    /// The client has closed the socket.
    Closed(Option<CloseReason>),
    /// The connection is lost.
    Disconnected,
}

impl From<SendQueueFull> for End {
    fn from(_: SendQueueFull) -> Self {
        Self::Close(CloseCode::SlowConsumer)
    }
}

impl Session {
    /// Creates the session of a new socket. `admitted` is its caller, if the upgrade carried a
    /// credential.
    pub(super) fn new(
        context: Context,
        admitted: Option<AdmittedCaller>,
        messages: AggregatedMessageStream,
        send_queue: SendQueue,
        progress: ConnectionState,
    ) -> Self {
        let opened_at = Instant::now();
        let times = context.sockets.timeouts;
        let deadlines = Deadlines::new(times, admitted.is_some(), opened_at);
        let mut session = Self {
            context: Rc::new(context),
            messages,
            send_queue,
            commands: FuturesUnordered::new(),
            subscriber: None,
            is_connecting: false,
            has_connected: false,
            timer: Timer::new(deadlines.next_deadline(None)),
            deadlines,
            rate: CommandRate::default(),
            opened_at,
            rejections: RejectionCounter::default(),
            progress,
        };
        if let Some(admitted) = admitted {
            session.admit(admitted);
        }
        session
    }

    /// Serves the socket until it ends. By reference, because a future that owned the session would
    /// have room for it several times.
    pub(super) async fn run(&mut self) {
        let mut metrics = SocketMetrics::start();
        let end = loop {
            let event = self.next_event().await;
            let handled = self.handle(event);
            if let Err(end) = handled.and_then(|()| self.send_and_set_timer()) {
                break end;
            }
        };
        self.finish_running_commands(&end).await;
        metrics.set_reason(end.label());
        self.close(end).await;
    }

    async fn next_event(&mut self) -> SessionEvent {
        let is_reading = self.is_reading();
        let closing = &self.context.state.closing;
        tokio::select! {
            message = self.messages.next(), if is_reading => SessionEvent::Message(message),
            Some(finished) = self.commands.next(), if !self.commands.is_empty() => {
                SessionEvent::Finished(finished)
            }
            event = next_subscriber_event(&mut self.subscriber) => SessionEvent::SubscriberEvent(event),
            () = self.send_queue.changed() => SessionEvent::SendQueueChanged,
            () = self.timer.fired() => SessionEvent::Timer,
            () = closing.cancelled() => SessionEvent::Closing,
        }
    }

    fn is_reading(&self) -> bool {
        !self.is_connecting
    }

    fn handle(&mut self, event: SessionEvent) -> Result<(), End> {
        match event {
            SessionEvent::Message(message) => self.handle_message(message),
            SessionEvent::Finished(finished) => self.apply(finished),
            SessionEvent::SubscriberEvent(event) => self.handle_subscriber_event(event),
            SessionEvent::SendQueueChanged if self.send_queue.is_disconnected() => {
                Err(End::Disconnected)
            }
            SessionEvent::SendQueueChanged => self.send_live_replies(),
            SessionEvent::Timer => self.check_deadlines(),
            SessionEvent::Closing => Err(End::Close(CloseCode::Draining)),
        }
    }

    /// Sends the available events, and sets the timer to the next deadline.
    fn send_and_set_timer(&mut self) -> Result<(), End> {
        if let Some(subscriber) = &mut self.subscriber {
            subscriber.send_events(&self.send_queue)?;
        }
        self.timer
            .set(self.deadlines.next_deadline(self.unread_since()));
        Ok(())
    }

    fn send_live_replies(&mut self) -> Result<(), End> {
        match &mut self.subscriber {
            Some(subscriber) => Ok(subscriber.send_live_replies(&self.send_queue)?),
            None => Ok(()),
        }
    }

    /// The time since which the client has read no byte although frames wait. The connection reads
    /// a large frame in many parts, so it knows more than the queue.
    fn unread_since(&self) -> Option<Instant> {
        let stalled_since = self.send_queue.stalled_since()?;
        Some(stalled_since.max(self.progress.last_write_at().unwrap_or(stalled_since)))
    }

    fn check_deadlines(&mut self) -> Result<(), End> {
        let stalled_since = self.unread_since();
        let is_reading = self.is_reading();
        match self
            .deadlines
            .due(Instant::now(), stalled_since, is_reading)
        {
            DueAction::Nothing => {}
            DueAction::Ping => {
                self.send_queue.ping();
                // Browsers do not show protocol pings to pages.
                self.send_queue.push(encode(&ServerFrame::Ping))?;
            }
            DueAction::Close(code) => return Err(End::Close(code)),
        }
        Ok(())
    }

    fn handle_subscriber_event(&mut self, event: SubscriberEvent) -> Result<(), End> {
        let Some(subscriber) = &mut self.subscriber else {
            return Ok(());
        };
        match event {
            // The log is read after every event.
            SubscriberEvent::Log | SubscriberEvent::Typing(None) => Ok(()),
            SubscriberEvent::Typing(Some(update)) => {
                Ok(subscriber.send_typing(&update, &self.send_queue)?)
            }
            SubscriberEvent::LiveReply => Ok(subscriber.send_live_replies(&self.send_queue)?),
            SubscriberEvent::PageRead(request, page) => {
                Ok(subscriber.accept_page(request, page, &self.send_queue)?)
            }
            // A channel must not have a gap; the log may be readable again when the client
            // reconnects.
            SubscriberEvent::Unreadable => Err(End::Close(CloseCode::Overloaded)),
            SubscriberEvent::CredentialEnded(end) => Err(End::Close(end.into())),
        }
    }
}

/// Waits for the next event of the subscriber; forever without one.
async fn next_subscriber_event(subscriber: &mut Option<Box<Subscriber>>) -> SubscriberEvent {
    match subscriber {
        Some(subscriber) => subscriber.next_event().await,
        None => pending().await,
    }
}
