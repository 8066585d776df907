//! Reads pages of past events for a socket.

use std::time::Duration;

use application::realtime::{LogRead, LogReader, PageSize, Tail};
use ports::{EventVisibility, LogBounds, RepositoryError};

use super::{
    frames::ResyncReason,
    subscriptions::{Page, PageRequest},
};

/// The pause after a failed read.
const RETRY_PAUSE: Duration = Duration::from_secs(1);

/// Reads a page of past events. Returns `None` if the read failed permanently.
pub(super) async fn read_page(
    log: &LogReader,
    tail: &Tail,
    visibility: &EventVisibility,
    request: &PageRequest,
) -> Option<Page> {
    match try_read_page(log, tail, visibility, request).await {
        Ok(page) => Some(page),
        Err(error) if error.is_retryable() => {
            tracing::debug!(
                error = ports::error::one_line(&error),
                "event log read failed; the socket retries"
            );
            tokio::time::sleep(RETRY_PAUSE).await;
            Some(Page::Failed)
        }
        Err(error) => {
            tracing::warn!(
                error = ports::error::one_line(&error),
                tenant = %tail.tenant(),
                since = request.since.0,
                "event log read failed permanently; closing the socket"
            );
            None
        }
    }
}

async fn try_read_page(
    log: &LogReader,
    tail: &Tail,
    visibility: &EventVisibility,
    request: &PageRequest,
) -> Result<Page, RepositoryError> {
    if request.is_too_long {
        let LogBounds { first, head } = log.bounds(tail.tenant()).await?;
        return Ok(Page::Gap {
            first,
            head,
            reason: ResyncReason::Limit,
        });
    }
    let filter = request.channel.filter(visibility);
    let read = log.read(tail, &filter, request.since, PageSize::FOLLOWED);
    Ok(match read.await? {
        LogRead::Expired { first, head } => Page::Gap {
            first,
            head,
            reason: ResyncReason::Retention,
        },
        LogRead::Events {
            events,
            next,
            at_tail,
        } => Page::Events {
            events,
            next,
            at_tail,
        },
    })
}
