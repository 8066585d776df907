//! One socket, from its first frame to its close: one task.

use std::{future::pending, rc::Rc};

use actix_ws::{AggregatedMessage, AggregatedMessageStream, CloseReason, ProtocolError};
use application::access::Over;
use futures::{StreamExt as _, future::LocalBoxFuture, stream::FuturesUnordered};
use tokio::time::Instant;

use super::{
    CloseCode, CommandRate, Outgoing, Overfull,
    command_rate::Refusals,
    commands::{Done, Refusal},
    context::{Admission, Context},
    deadlines::{Alarm, Deadlines, Due},
    frames::{ServerFrame, encode},
    member::{Member, News},
    meter::Meter,
};
use crate::connection::Progress;

mod ending;
mod inbound;
mod outcomes;

pub(super) use self::inbound::MOST_WITH_SHORT_ONES;

/// One socket.
pub(super) struct Session {
    context: Rc<Context>,
    messages: AggregatedMessageStream,
    outgoing: Outgoing,
    commands: FuturesUnordered<LocalBoxFuture<'static, Finished>>,
    /// Whoever is at the other end; nobody knows before `connect` when the upgrade carried no
    /// credential.
    member: Option<Box<Member>>,
    /// Whether a `connect` is being carried out: what comes behind it waits unread.
    is_connecting: bool,
    has_connected: bool,
    deadlines: Deadlines,
    alarm: Alarm,
    rate: CommandRate,
    began: Instant,
    refusals: Refusals,
    progress: Progress,
}

/// A command that was carried out, or not.
struct Finished {
    id: u64,
    is_connect: bool,
    result: Result<Done, Refusal>,
}

/// Something that happened.
enum Happening {
    Message(Option<Result<AggregatedMessage, ProtocolError>>),
    Finished(Finished),
    News(News),
    Moved,
    Alarm,
    Closing,
}

/// Why a socket ends.
enum End {
    /// The server closes it.
    Close(CloseCode),
    /// The client has closed it.
    Closed(Option<CloseReason>),
    /// The connection has gone.
    Gone,
}

impl From<Overfull> for End {
    fn from(_: Overfull) -> Self {
        Self::Close(CloseCode::SlowConsumer)
    }
}

impl Session {
    /// A socket that was just opened, by whoever was admitted if its upgrade carried a credential.
    pub(super) fn new(
        context: Context,
        admission: Option<Admission>,
        messages: AggregatedMessageStream,
        outgoing: Outgoing,
        progress: Progress,
    ) -> Self {
        let began = Instant::now();
        let times = context.state.socket_times;
        let deadlines = Deadlines::new(times, admission.is_some(), began);
        let mut session = Self {
            context: Rc::new(context),
            messages,
            outgoing,
            commands: FuturesUnordered::new(),
            member: None,
            is_connecting: false,
            has_connected: false,
            alarm: Alarm::new(deadlines.next(None)),
            deadlines,
            rate: CommandRate::default(),
            began,
            refusals: Refusals::default(),
            progress,
        };
        if let Some(admission) = admission {
            session.admit(admission);
        }
        session
    }

    /// Serves the socket until it ends.
    pub(super) async fn run(mut self) {
        let mut meter = Meter::begin();
        let end = loop {
            let happening = self.next().await;
            let taken_in = self.take_in(happening);
            if let Err(end) = taken_in.and_then(|()| self.go_on()) {
                break end;
            }
        };
        self.answer_what_is_in_hand(&end).await;
        meter.note(end.label());
        self.part(end).await;
    }

    async fn next(&mut self) -> Happening {
        let is_listening = self.is_listening();
        let closing = &self.context.state.closing;
        tokio::select! {
            message = self.messages.next(), if is_listening => Happening::Message(message),
            Some(finished) = self.commands.next(), if !self.commands.is_empty() => {
                Happening::Finished(finished)
            }
            news = news_of(&mut self.member) => Happening::News(news),
            () = self.outgoing.moved() => Happening::Moved,
            () = self.alarm.rung() => Happening::Alarm,
            () = closing.cancelled() => Happening::Closing,
        }
    }

    fn is_listening(&self) -> bool {
        !self.is_connecting
    }

    fn take_in(&mut self, happening: Happening) -> Result<(), End> {
        match happening {
            Happening::Message(message) => self.take_message(message),
            Happening::Finished(finished) => self.finish(finished),
            Happening::News(news) => self.take_news(news),
            Happening::Moved if self.outgoing.is_gone() => Err(End::Gone),
            Happening::Moved => self.tell_texts(),
            Happening::Alarm => self.look_at_the_clock(),
            Happening::Closing => Err(End::Close(CloseCode::Draining)),
        }
    }

    /// Tells what there is to tell, and sets the alarm.
    fn go_on(&mut self) -> Result<(), End> {
        if let Some(member) = &mut self.member {
            member.advance(&self.outgoing)?;
        }
        self.alarm.set(self.deadlines.next(self.blocked_since()));
        Ok(())
    }

    fn tell_texts(&mut self) -> Result<(), End> {
        match &mut self.member {
            Some(member) => Ok(member.tell_texts(&self.outgoing)?),
            None => Ok(()),
        }
    }

    /// Since when the client has taken not one byte of what waits for it. A large frame is taken
    /// in many parts, so the connection knows more of it than the queue.
    fn blocked_since(&self) -> Option<Instant> {
        let waiting_since = self.outgoing.stuck_since()?;
        Some(waiting_since.max(self.progress.taken_at().unwrap_or(waiting_since)))
    }

    fn look_at_the_clock(&mut self) -> Result<(), End> {
        let stuck_since = self.blocked_since();
        let is_listening = self.is_listening();
        match self
            .deadlines
            .due(Instant::now(), stuck_since, is_listening)
        {
            Due::Nothing => {}
            Due::Ping => {
                self.outgoing.ping();
                // Pages cannot see the protocol's own.
                self.outgoing.push(encode(&ServerFrame::Ping))?;
            }
            Due::Close(code) => return Err(End::Close(code)),
        }
        Ok(())
    }

    fn take_news(&mut self, news: News) -> Result<(), End> {
        let Some(member) = &mut self.member else {
            return Ok(());
        };
        match news {
            // The log is looked at whatever has happened.
            News::Log | News::Typing(None) => Ok(()),
            News::Typing(Some(news)) => Ok(member.tell_typing(&news, &self.outgoing)?),
            News::Text => Ok(member.tell_texts(&self.outgoing)?),
            News::Past(wanted, page) => Ok(member.take_in(wanted, page, &self.outgoing)?),
            // Nothing is told that has a gap; who comes back after a pause may find it mended.
            News::Unreadable => Err(End::Close(CloseCode::Overloaded)),
            News::Over(Over::Revoked) => Err(End::Close(CloseCode::Revoked)),
            News::Over(Over::Ended) => Err(End::Close(CloseCode::RefreshToken)),
        }
    }
}

/// What happens for whoever is at the other end; nothing while nobody is known.
async fn news_of(member: &mut Option<Box<Member>>) -> News {
    match member {
        Some(member) => member.news().await,
        None => pending().await,
    }
}
