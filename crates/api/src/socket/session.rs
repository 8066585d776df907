//! One socket, from its first frame to its close: one task.

use std::{future::pending, rc::Rc, time::Duration};

use actix_ws::{AggregatedMessage, AggregatedMessageStream, CloseReason, ProtocolError};
use application::access::Over;
use domain::ProblemCode;
use futures::{StreamExt as _, future::LocalBoxFuture, stream::FuturesUnordered};
use tokio::time::Instant;

use super::{
    CloseCode, CommandRate, Outgoing, Overfull, close_code_of,
    commands::{Done, Refusal, carry_out, connected_before},
    context::{Admission, Context},
    deadlines::{Alarm, Deadlines, Due},
    frames::{self, ClientFrame, Command, ServerFrame, encode},
    member::{Member, News},
    meter::Meter,
};
use crate::{
    access::unauthenticated,
    connection::Progress,
    problem::{ApiError, LimitPolicy, seconds_to_wait},
};

mod ending;
mod outcomes;

/// Commands that are carried out at once; further frames wait unread.
const MOST_COMMANDS: usize = 16;
/// After so many commands in a row that came too fast the socket is closed.
const MOST_REFUSED: u32 = 100;

/// One socket.
pub(super) struct Session {
    context: Rc<Context>,
    messages: AggregatedMessageStream,
    outgoing: Outgoing,
    commands: FuturesUnordered<LocalBoxFuture<'static, Finished>>,
    /// Whoever is at the other end; nobody knows before `connect` when the upgrade carried no
    /// credential.
    member: Option<Box<Member>>,
    /// Whether that `connect` is being carried out: nothing is read meanwhile.
    is_entering: bool,
    has_connected: bool,
    deadlines: Deadlines,
    alarm: Alarm,
    rate: CommandRate,
    began: Instant,
    /// Commands in a row that came too fast.
    refused: u32,
    progress: Progress,
}

/// A command that was carried out, or not.
struct Finished {
    id: u64,
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
            is_entering: false,
            has_connected: false,
            alarm: Alarm::new(deadlines.next(None)),
            deadlines,
            rate: CommandRate::default(),
            began,
            refused: 0,
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
        self.commands.len() < MOST_COMMANDS && !self.is_entering
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
        self.alarm
            .set(self.deadlines.next(self.outgoing.stuck_since()));
        Ok(())
    }

    fn tell_texts(&mut self) -> Result<(), End> {
        match &mut self.member {
            Some(member) => Ok(member.tell_texts(&self.outgoing)?),
            None => Ok(()),
        }
    }

    fn look_at_the_clock(&mut self) -> Result<(), End> {
        let stuck_since = self.outgoing.stuck_since();
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
            News::Over(Over::Revoked) => Err(End::Close(CloseCode::Revoked)),
            News::Over(Over::Ended) => Err(End::Close(CloseCode::RefreshToken)),
        }
    }

    fn take_message(
        &mut self,
        message: Option<Result<AggregatedMessage, ProtocolError>>,
    ) -> Result<(), End> {
        let message = match message {
            None => return Err(End::Gone),
            Some(Err(fault)) => {
                return Err(close_code_of(&fault).map_or(End::Gone, End::Close));
            }
            Some(Ok(message)) => message,
        };
        self.deadlines.heard();
        match message {
            AggregatedMessage::Text(text) => self.take_frame(&text),
            AggregatedMessage::Binary(_) => Err(End::Close(CloseCode::BinaryFrame)),
            AggregatedMessage::Ping(payload) => {
                match self.rate.take(self.began.elapsed()) {
                    Ok(()) => self.outgoing.pong(payload),
                    Err(_wait) => self.count_refused()?,
                }
                Ok(())
            }
            AggregatedMessage::Pong(_) => Ok(()),
            AggregatedMessage::Close(reason) => Err(End::Closed(reason)),
        }
    }

    /// Reads a frame, and begins to carry its command out.
    fn take_frame(&mut self, text: &str) -> Result<(), End> {
        let read = frames::read(text, &self.context.state.schemas);
        let id = match &read {
            Ok(frame) => Some(frame.id),
            Err(refused) => refused.id,
        };
        if let Err(wait) = self.rate.take(self.began.elapsed()) {
            self.reply(id, Err(too_fast(wait)))?;
            return self.count_refused();
        }
        let ClientFrame { id, command } = match read {
            Ok(frame) => frame,
            Err(refused) => return self.reply(id, Err(*refused.error)),
        };
        let is_connect = matches!(command, Command::Connect(_));
        if is_connect && self.has_connected {
            return self.reply(Some(id), Err(connected_before()));
        }
        if self.member.is_none() {
            if !is_connect {
                self.reply(Some(id), Err(unauthenticated()))?;
                return Err(End::Close(CloseCode::Unauthenticated));
            }
            self.is_entering = true;
        }
        let context = Rc::clone(&self.context);
        self.commands.push(Box::pin(async move {
            let result = carry_out(context, command).await;
            Finished { id, result }
        }));
        Ok(())
    }

    fn count_refused(&mut self) -> Result<(), End> {
        self.refused += 1;
        if self.refused >= MOST_REFUSED {
            return Err(End::Close(CloseCode::RateLimited));
        }
        Ok(())
    }
}

/// What happens for whoever is at the other end; nothing while nobody is known.
async fn news_of(member: &mut Option<Box<Member>>) -> News {
    match member {
        Some(member) => member.news().await,
        None => pending().await,
    }
}

fn too_fast(wait: Duration) -> ApiError {
    ApiError {
        retry_after: Some(seconds_to_wait(wait)),
        violated_policy: Some(LimitPolicy::Commands),
        ..ApiError::new(ProblemCode::RateLimited)
    }
}
