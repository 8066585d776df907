//! Follows a log from a position on.

use std::sync::Arc;

use domain::Seq;
use ports::RepositoryError;
use tokio::sync::watch;

use super::{EventFilter, LogReader, PageSize, Read, SerializedEvent, Tail};

/// Something that a follower comes by.
#[derive(Debug, Clone, PartialEq)]
pub enum Followed {
    /// Events, oldest first.
    Events(Vec<Arc<SerializedEvent>>),
    /// There was nothing to show up to here.
    Position(Seq),
    /// Events were missed: the log did not reach to where the follower was. It goes on from the
    /// head.
    Missed {
        /// The oldest event still there.
        first: Seq,
        /// The newest event.
        head: Seq,
    },
}

/// Follows a log from a position on. It does nothing unless it is asked for what comes next.
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

    /// The position from which it goes on.
    pub fn position(&self) -> Seq {
        self.since
    }

    /// A position that both the follower and the log have reached.
    pub fn position_in_log(&self) -> Seq {
        self.since.min(self.tail.position())
    }

    /// What comes next; waits for it at the end of the log.
    pub async fn next(&mut self) -> Result<Followed, RepositoryError> {
        loop {
            // What grows from here on wakes the waiting below.
            self.positions.mark_unchanged();
            let before = self.since;
            let size = PageSize::FOLLOWED;
            let read = self.reader.read(&self.tail, &self.filter, before, size);
            let (events, at_tail) = match read.await? {
                Read::Expired { first, head } => {
                    self.since = head;
                    return Ok(Followed::Missed { first, head });
                }
                Read::Events {
                    events,
                    next,
                    at_tail,
                } => {
                    self.since = next;
                    (events, at_tail)
                }
            };
            if !events.is_empty() {
                return Ok(Followed::Events(events));
            }
            if self.since > before {
                return Ok(Followed::Position(self.since));
            }
            if at_tail {
                // The tail that is held here holds the sender.
                let _ = self.positions.changed().await;
            }
        }
    }
}
