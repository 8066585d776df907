//! What comes from the client.

use std::{rc::Rc, time::Duration};

use actix_ws::{AggregatedMessage, ProtocolError};
use domain::ProblemCode;

use super::{End, Finished, Session};
use crate::{
    access::unauthenticated,
    problem::{ApiError, LimitPolicy, seconds_to_wait},
    socket::{
        CloseCode, close_code_of,
        commands::{carry_out, connected_before, not_connected},
        frames::{self, ClientFrame, Command, Refused},
    },
};

/// Commands of one socket that are in hand at the same time: as many as may come at once.
const MOST_IN_HAND: usize = 40;
/// The same with those that end soon, which pass by when nothing else is taken.
pub(in crate::socket) const MOST_WITH_SHORT_ONES: usize = 64;
/// How long whoever has too many in hand should wait before the next.
const WAIT_FOR_ONE: Duration = Duration::from_secs(1);

impl Session {
    /// Takes in what has come over the connection.
    pub(super) fn take_message(
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
        if let Err(wait) = self.rate.take(self.began.elapsed()) {
            // The rest of it is not worth the work.
            self.reply(frames::read_id(text), Err(too_fast(wait)))?;
            return self.count_refused();
        }
        let ClientFrame { id, command } = match frames::read(text, &self.context.state.schemas) {
            Ok(frame) => frame,
            Err(refused) => return self.refuse_frame(refused),
        };
        let is_connect = matches!(command, Command::Connect(_));
        if is_connect && self.has_connected {
            return self.reply(Some(id), Err(connected_before()));
        }
        if self.member.is_none() && !is_connect {
            self.reply(Some(id), Err(unauthenticated()))?;
            return Err(End::Close(CloseCode::Unauthenticated));
        }
        if !self.has_connected && !is_connect {
            return self.reply(Some(id), Err(not_connected()));
        }
        let most = most_beside(&command);
        if self.commands.len() >= most {
            self.reply(Some(id), Err(too_many(most)))?;
            return self.count_refused();
        }
        self.is_connecting |= is_connect;
        let context = Rc::clone(&self.context);
        self.commands.push(Box::pin(async move {
            let result = carry_out(context, id, command).await;
            Finished {
                id,
                is_connect,
                result,
            }
        }));
        Ok(())
    }

    /// Tells what is wrong with a frame. A stranger may only be wrong about how to connect.
    fn refuse_frame(&mut self, refused: Refused) -> Result<(), End> {
        self.reply(refused.id, Err(*refused.error))?;
        if self.member.is_none() && !refused.is_connect {
            return Err(End::Close(CloseCode::Unauthenticated));
        }
        Ok(())
    }

    /// Counts something that came too fast.
    pub(super) fn count_refused(&mut self) -> Result<(), End> {
        if self.refusals.note(self.began.elapsed()) {
            return Err(End::Close(CloseCode::RateLimited));
        }
        Ok(())
    }
}

/// How many others may be in hand beside a command.
const fn most_beside(command: &Command) -> usize {
    match command {
        Command::Ping | Command::Cancel(_) | Command::Refresh(_) | Command::Unsubscribe(_) => {
            MOST_WITH_SHORT_ONES
        }
        _ => MOST_IN_HAND,
    }
}

fn too_fast(wait: Duration) -> ApiError {
    ApiError {
        retry_after: Some(seconds_to_wait(wait)),
        violated_policy: Some(LimitPolicy::Commands),
        ..ApiError::new(ProblemCode::RateLimited)
    }
}

fn too_many(most: usize) -> ApiError {
    let detail = format!("{most} commands of this socket are being carried out");
    too_fast(WAIT_FOR_ONE).with_detail(detail)
}
