//! Reads the past for a socket.

use std::time::Duration;

use application::realtime::{LogReader, PageSize, Read, Tail};
use ports::{EventVisibility, LogBounds, RepositoryError};

use super::{
    frames::ResyncReason,
    subscriptions::{Page, PageRequest},
};

/// How long to wait before the past is read again that could not be read.
const PAUSE: Duration = Duration::from_secs(1);

/// Reads a page of the past; nothing if it cannot be read, now or later.
pub(super) async fn read(
    log: &LogReader,
    tail: &Tail,
    visibility: &EventVisibility,
    request: &PageRequest,
) -> Option<Page> {
    match page(log, tail, visibility, request).await {
        Ok(page) => Some(page),
        Err(error) if error.is_retryable() => {
            tracing::debug!(
                error = ports::error::chain(&error),
                "the log cannot be read for a socket"
            );
            tokio::time::sleep(PAUSE).await;
            Some(Page::Failed)
        }
        Err(error) => {
            tracing::warn!(
                error = ports::error::chain(&error),
                tenant = %tail.tenant(),
                since = request.since.0,
                "a socket ends: the log cannot be read"
            );
            None
        }
    }
}

async fn page(
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
        Read::Expired { first, head } => Page::Gap {
            first,
            head,
            reason: ResyncReason::Retention,
        },
        Read::Events {
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
