//! How many streams and sockets a principal may have open at once.

use application::access::{Entrant, Limits, TooManyStreams};
use domain::ProblemCode;
use ports::StreamSlot;

use crate::problem::{ApiError, LimitPolicy};

/// Whole seconds after which to try again: one may be closed at any time.
const RETRY_AFTER: u32 = 1;

/// Opens a stream or socket of an entrant, or refuses it. It counts until the slot is dropped,
/// which is to be kept beside it; there is none when nothing can be counted.
pub async fn open_stream(
    limits: &Limits,
    entrant: &Entrant,
) -> Result<Option<StreamSlot>, ApiError> {
    let opened = limits.open_stream(entrant).await;
    opened.map_err(|TooManyStreams| ApiError {
        retry_after: Some(RETRY_AFTER),
        violated_policy: Some(LimitPolicy::Streams),
        ..ApiError::new(ProblemCode::TooManyStreams)
    })
}
