//! The task that serves one socket from its first frame to its close.

use std::{future::pending, rc::Rc};

use futures::{StreamExt as _, future::LocalBoxFuture, stream::FuturesUnordered};
use tokio::time::Instant;

use super::{
    CloseCode, CommandRate, Connection, End, Incoming,
    command_rate::RejectionCounter,
    commands::{CommandError, CommandOutcome},
    context::{AdmittedCaller, Context},
    frames::{ServerFrame, encode},
    subscriber::{Subscriber, SubscriberEvent},
};

mod ending;
mod inbound;
mod outcomes;

pub(super) use self::inbound::MAX_RUNNING_WITH_SHORT;

/// One socket.
pub(super) struct Session {
    context: Rc<Context>,
    connection: Connection,
    commands: FuturesUnordered<LocalBoxFuture<'static, Finished>>,
    /// The subscriber; `None` before `connect` if the upgrade carried no credential.
    subscriber: Option<Box<Subscriber>>,
    /// True if a `connect` is running: later frames are not read meanwhile.
    is_connecting: bool,
    has_connected: bool,
    rate: CommandRate,
    opened_at: Instant,
    rejections: RejectionCounter,
}

/// A command that has ended.
struct Finished {
    id: u64,
    is_connect: bool,
    result: Result<CommandOutcome, CommandError>,
}

/// An event that the task handles.
enum SessionEvent {
    Incoming(Result<Incoming, End>),
    Finished(Finished),
    SubscriberEvent(SubscriberEvent),
}

impl Session {
    /// Creates the session of a new socket. `admitted` is its caller, if the upgrade carried a
    /// credential.
    pub(super) fn new(
        context: Context,
        admitted: Option<AdmittedCaller>,
        connection: Connection,
    ) -> Self {
        let mut session = Self {
            context: Rc::new(context),
            connection,
            commands: FuturesUnordered::new(),
            subscriber: None,
            is_connecting: false,
            has_connected: false,
            rate: CommandRate::default(),
            opened_at: Instant::now(),
            rejections: RejectionCounter::default(),
        };
        if let Some(admitted) = admitted {
            session.admit(admitted);
        }
        session
    }

    /// Serves the socket until it ends. By reference, because a future that owned the session would
    /// have room for it several times.
    pub(super) async fn run(&mut self) {
        let end = loop {
            let event = self.next_event().await;
            let handled = self.handle(event);
            if let Err(end) = handled.and_then(|()| self.send_events()) {
                break end;
            }
        };
        self.finish_running_commands(&end).await;
        self.close(end).await;
    }

    async fn next_event(&mut self) -> SessionEvent {
        // Frames behind a `connect` are read when it has ended.
        let is_reading = !self.is_connecting;
        tokio::select! {
            incoming = self.connection.next(is_reading) => SessionEvent::Incoming(incoming),
            Some(finished) = self.commands.next(), if !self.commands.is_empty() => {
                SessionEvent::Finished(finished)
            }
            event = next_subscriber_event(&mut self.subscriber) => SessionEvent::SubscriberEvent(event),
        }
    }

    fn handle(&mut self, event: SessionEvent) -> Result<(), End> {
        match event {
            SessionEvent::Incoming(incoming) => self.handle_incoming(incoming?),
            SessionEvent::Finished(finished) => self.apply(finished),
            SessionEvent::SubscriberEvent(event) => self.handle_subscriber_event(event),
        }
    }

    /// Sends the available events.
    fn send_events(&mut self) -> Result<(), End> {
        match &mut self.subscriber {
            Some(subscriber) => Ok(subscriber.send_events(&self.connection.send_queue)?),
            None => Ok(()),
        }
    }

    fn handle_incoming(&mut self, incoming: Incoming) -> Result<(), End> {
        match incoming {
            Incoming::Text(text) => self.handle_frame(&text),
            Incoming::Ping(payload) => {
                match self.rate.take(self.opened_at.elapsed()) {
                    Ok(()) => self.connection.send_queue.pong(payload),
                    Err(_wait) => self.count_rejection()?,
                }
                Ok(())
            }
            // Browsers do not show protocol pings to pages.
            Incoming::PingSent => self.push(&ServerFrame::Ping),
            Incoming::Room => self.send_live_replies(),
        }
    }

    fn push(&self, frame: &ServerFrame) -> Result<(), End> {
        Ok(self.connection.send_queue.push(encode(frame))?)
    }

    fn send_live_replies(&mut self) -> Result<(), End> {
        match &mut self.subscriber {
            Some(subscriber) => Ok(subscriber.send_live_replies(&self.connection.send_queue)?),
            None => Ok(()),
        }
    }

    fn handle_subscriber_event(&mut self, event: SubscriberEvent) -> Result<(), End> {
        let Some(subscriber) = &mut self.subscriber else {
            return Ok(());
        };
        match event {
            // The log is read after every event.
            SubscriberEvent::Log | SubscriberEvent::Typing(None) => Ok(()),
            SubscriberEvent::Typing(Some(update)) => {
                Ok(subscriber.send_typing(&update, &self.connection.send_queue)?)
            }
            SubscriberEvent::LiveReply => {
                Ok(subscriber.send_live_replies(&self.connection.send_queue)?)
            }
            SubscriberEvent::PageRead(request, page) => {
                Ok(subscriber.accept_page(request, page, &self.connection.send_queue)?)
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
