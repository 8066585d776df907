//! The pace at which a long body must arrive.

use std::time::Duration;

use actix_web::{dev::Payload, error::PayloadError};
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
    max_lead: Duration,
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
            max_lead: MAX_LEAD,
            received: 0,
        }
    }

    /// Begins to receive a body that a far region receives at this pace from its client: what is in time
    /// there may arrive later here.
    pub(super) fn of_region(deadline: Duration) -> Self {
        let pace = Self::new(deadline * 2);
        Self {
            due: pace.due + deadline,
            max_lead: MAX_LEAD + deadline,
            ..pace
        }
    }

    /// Excludes a time for which the receiver has not read.
    pub(super) fn pause(&mut self, time: Duration) {
        self.started += time;
        self.due += time;
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
        let part = part.map_err(rejected)?;
        self.received += part.len() as u64;
        let now = Instant::now();
        let gained = Duration::from_micros(part.len() as u64 * 1_000_000 / MIN_BYTES_PER_SECOND);
        self.due = (self.due + gained).min(now + self.max_lead);
        if now > self.started + self.deadline && now > self.due {
            return Err(too_slow());
        }
        Ok(Some(part))
    }
}

fn too_slow() -> ApiError {
    ApiError::new(ProblemCode::RequestTimeout)
}

fn rejected(error: PayloadError) -> ApiError {
    let error = match error {
        PayloadError::Io(error) => match error.downcast::<ApiError>() {
            Ok(rejected) => return rejected,
            Err(error) => PayloadError::Io(error),
        },
        other => other,
    };
    cut_off().with_source(error.to_string())
}

/// Returns the error of a body without its end.
pub(super) fn cut_off() -> ApiError {
    let error = ApiError::new(ProblemCode::MalformedJson);
    error.with_detail("The connection was closed before the end of the body.")
}
