//! The pace at which a long body must arrive.

use std::{io, time::Duration};

use actix_web::dev::Payload;
use domain::ProblemCode;
use futures::StreamExt as _;
use tokio::time::{Instant, timeout};
use tokio_util::bytes::Bytes;

use crate::problem::ApiError;

/// The average number of bytes in a second that must arrive, once the deadline of other bodies is over.
const MIN_BYTES_PER_SECOND: u64 = 16 * 1024;
/// The longest time that a client gains by sending faster: what it has sent may be in memory meanwhile.
const MAX_LEAD: Duration = Duration::from_mins(1);

/// The pace of a body that is being received.
pub(crate) struct Pace {
    /// The time within which the next bytes must arrive, and after which their rate counts.
    deadline: Duration,
    started: Instant,
    /// The time at which the client would be too slow without another byte.
    due: Instant,
    received: u64,
}

impl Pace {
    /// Begins to receive a body.
    pub(crate) fn new(deadline: Duration) -> Self {
        let now = Instant::now();
        Self {
            deadline,
            started: now,
            due: now,
            received: 0,
        }
    }

    /// Returns the number of bytes that have arrived.
    pub(crate) const fn received(&self) -> u64 {
        self.received
    }

    /// Returns the next part, or nothing at the end. No part is lost if the future is dropped.
    pub(crate) async fn next(&mut self, payload: &mut Payload) -> Result<Option<Bytes>, ApiError> {
        let next = timeout(self.deadline, payload.next()).await;
        let Some(part) = next.map_err(|_elapsed| too_slow())? else {
            return Ok(None);
        };
        let part = part.map_err(|error| cut_off(&error))?;
        self.received += part.len() as u64;
        let now = Instant::now();
        let gained = Duration::from_micros(part.len() as u64 * 1_000_000 / MIN_BYTES_PER_SECOND);
        self.due = (self.due + gained).min(now + MAX_LEAD);
        if now > self.started + self.deadline && now > self.due {
            return Err(too_slow());
        }
        Ok(Some(part))
    }
}

fn too_slow() -> ApiError {
    ApiError::new(ProblemCode::RequestTimeout)
}

fn cut_off(error: &actix_web::error::PayloadError) -> ApiError {
    let source = io::Error::other(error.to_string());
    let error = ApiError::new(ProblemCode::MalformedJson);
    let detail = "The connection was closed before the end of the body.";
    error.with_detail(detail).with_source(source)
}
