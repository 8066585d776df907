//! Following a log from a position.

use std::sync::Arc;

use domain::Seq;
use ports::{EventVisibility, RepositoryError};
use tokio::sync::watch;

use super::{EventFilter, LogRead, LogReader, PageSize, SerializedEvent, Tail};

/// An update that a follower receives.
#[derive(Debug, Clone, PartialEq)]
pub enum LogUpdate {
    /// Events, oldest first.
    Events(Vec<Arc<SerializedEvent>>),
    /// The filter matched no event up to this position.
    Position(Seq),
    /// The follower missed events: the log does not reach its position. It continues from the head.
    Missed {
        /// The position of the oldest event in the log.
        first: Seq,
        /// The position of the newest event.
        head: Seq,
    },
}

/// Follows a log from a position. It reads only while [`Self::next`] is awaited.
pub struct Follower {
    reader: Arc<LogReader>,
    tail: Arc<Tail>,
    positions: watch::Receiver<Seq>,
    filter: EventFilter,
    since: Seq,
}

impl Follower {
    pub(super) fn new(
        reader: Arc<LogReader>,
        tail: Arc<Tail>,
        filter: EventFilter,
        since: Seq,
    ) -> Self {
        Self {
            reader,
            positions: tail.positions(),
            tail,
            filter,
            since,
        }
    }

    /// Returns the position from which the follower continues.
    pub fn position(&self) -> Seq {
        self.since
    }

    /// Returns the visibility of events to its reader.
    pub const fn visibility(&self) -> &EventVisibility {
        &self.filter.visibility
    }

    /// Returns the highest position that both the follower and this process's tail have reached.
    pub fn position_in_log(&self) -> Seq {
        self.since.min(self.tail.position())
    }

    /// Returns the next update. At the end of the log, it waits for new events.
    pub async fn next(&mut self) -> Result<LogUpdate, RepositoryError> {
        loop {
            // Events that are added from here on end the wait below.
            self.positions.mark_unchanged();
            let before = self.since;
            let size = PageSize::FOLLOWED;
            let read = self.reader.read(&self.tail, &self.filter, before, size);
            let (events, at_tail) = match read.await? {
                LogRead::Expired { first, head } => {
                    self.since = head;
                    return Ok(LogUpdate::Missed { first, head });
                }
                LogRead::Events {
                    events,
                    next,
                    at_tail,
                } => {
                    self.since = next;
                    (events, at_tail)
                }
            };
            if !events.is_empty() {
                return Ok(LogUpdate::Events(events));
            }
            if self.since > before {
                return Ok(LogUpdate::Position(self.since));
            }
            if at_tail {
                // Never fails: the tail that is held here owns the sender.
                let _ = self.positions.changed().await;
            }
        }
    }
}
