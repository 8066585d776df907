//! Handles the frames of the client.

use std::{rc::Rc, time::Duration};

use domain::ProblemCode;
use kit::{
    auth::unauthenticated,
    problem::{ApiError, LimitPolicy, seconds_to_wait},
};

use super::{End, Finished, Session};
use crate::{
    CloseCode,
    commands::{already_connected, execute, not_connected},
    frames::{self, ClientFrame, Command, InvalidFrame},
};

/// The maximum number of running commands of one socket: one burst.
const MAX_RUNNING: usize = 40;
/// The maximum including short commands, which are accepted above [`MAX_RUNNING`].
pub(crate) const MAX_RUNNING_WITH_SHORT: usize = 64;
/// The `retryAfter` of a command above the maximum.
const RUNNING_LIMIT_WAIT: Duration = Duration::from_secs(1);

impl Session {
    /// Parses a frame, and starts its command.
    pub(super) fn handle_frame(&mut self, text: &str) -> Result<(), End> {
        if let Err(wait) = self.rate.take(self.opened_at.elapsed()) {
            // The frame is rejected in any case, so only its id is parsed.
            self.reply(frames::read_id(text), Err(too_fast(wait)))?;
            return self.count_rejection();
        }
        let ClientFrame { id, command } =
            match frames::read(text, &self.context.state.bodies.schemas) {
                Ok(frame) => frame,
                Err(invalid) => return self.send_frame_errors(invalid),
            };
        let is_connect = matches!(command, Command::Connect(_));
        if is_connect && self.has_connected {
            return self.reply(Some(id), Err(already_connected()));
        }
        if self.subscriber.is_none() && !is_connect {
            self.reply(Some(id), Err(unauthenticated()))?;
            return Err(End::Close(CloseCode::Unauthenticated));
        }
        if !self.has_connected && !is_connect {
            return self.reply(Some(id), Err(not_connected()));
        }
        let max = max_running_with(&command);
        if self.commands.len() >= max {
            self.reply(Some(id), Err(too_many(max)))?;
            return self.count_rejection();
        }
        self.is_connecting |= is_connect;
        let context = Rc::clone(&self.context);
        self.commands.push(Box::pin(async move {
            let result = execute(context, id, command).await;
            Finished {
                id,
                is_connect,
                result,
            }
        }));
        Ok(())
    }

    /// Sends the errors of an invalid frame. An unauthenticated client may only send an invalid
    /// `connect`.
    fn send_frame_errors(&mut self, invalid: InvalidFrame) -> Result<(), End> {
        self.reply(invalid.id, Err(*invalid.error))?;
        if self.subscriber.is_none() && !invalid.is_connect {
            return Err(End::Close(CloseCode::Unauthenticated));
        }
        Ok(())
    }

    /// Counts a command or ping that exceeds the rate.
    pub(super) fn count_rejection(&mut self) -> Result<(), End> {
        if self.rejections.record(self.opened_at.elapsed()) {
            return Err(End::Close(CloseCode::RateLimited));
        }
        Ok(())
    }
}

/// The maximum number of commands that may run beside a command.
const fn max_running_with(command: &Command) -> usize {
    match command {
        Command::Ping | Command::Cancel(_) | Command::Refresh(_) | Command::Unsubscribe(_) => {
            MAX_RUNNING_WITH_SHORT
        }
        _ => MAX_RUNNING,
    }
}

fn too_fast(wait: Duration) -> ApiError {
    ApiError {
        retry_after: Some(seconds_to_wait(wait)),
        violated_policy: Some(LimitPolicy::Commands),
        ..ApiError::new(ProblemCode::RateLimited)
    }
}

fn too_many(max: usize) -> ApiError {
    let detail = format!("{max} commands of this socket are running; wait for their replies.");
    too_fast(RUNNING_LIMIT_WAIT).with_detail(detail)
}
