//! The open streams of each principal at this node.

use std::collections::{HashMap, VecDeque};

use domain::QuotaHolder;
use parking_lot::Mutex;
use tokio::sync::oneshot;

use crate::limiter::shared::OpenStream;

/// Receives the opened stream, or none. Dropping the stream closes it.
pub(crate) type OpenSender = oneshot::Sender<Option<OpenStream>>;

/// A call that waits for the row.
#[derive(Debug)]
struct Waiter {
    most: u32,
    sender: OpenSender,
}

/// The decisions about calls. They are sent without the lock, because a stream that no call receives
/// is closed at once.
pub(crate) type Decisions = Vec<(OpenSender, bool)>;

#[derive(Debug)]
struct Streams {
    open: u32,
    /// The number that the row has for this node; `None` if it is unknown, because a statement was
    /// sent and not received. The row is informed until it is known to have the right number.
    reported: Option<u32>,
    waiting: VecDeque<Waiter>,
    is_queued: bool,
}

impl Default for Streams {
    fn default() -> Self {
        Self {
            open: 0,
            reported: Some(0),
            waiting: VecDeque::new(),
            is_queued: false,
        }
    }
}

/// The first step of an opening.
#[derive(Debug)]
pub(crate) enum OpenStep {
    /// This node alone has the maximum open.
    Full,
    /// The row decides. With `must_query`, no query of it is queued yet.
    Waiting {
        stream: oneshot::Receiver<Option<OpenStream>>,
        must_query: bool,
    },
}

/// A request of a node to a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StreamRowRequest {
    /// The number of streams that are open at this node.
    pub(crate) open: u32,
    /// The number of streams that wait to be opened.
    pub(crate) wanted: u32,
    /// The maximum number of open streams, at all nodes.
    pub(crate) most: u32,
}

/// The numbers of open streams, by principal.
#[derive(Debug, Default)]
pub(crate) struct OpenStreams(Mutex<HashMap<QuotaHolder, Streams>>);

impl OpenStreams {
    /// Opens a stream without the row. Returns whether it was opened.
    pub(crate) fn open_locally(&self, holder: &QuotaHolder, most: u32) -> bool {
        let mut holders = self.0.lock();
        match holders.get_mut(holder) {
            Some(streams) if streams.open >= most => return false,
            Some(streams) => streams.open += 1,
            None if most == 0 => return false,
            None => holders.entry(holder.clone()).or_default().open = 1,
        }
        true
    }

    /// Waits for the row, unless this node alone has the maximum open.
    pub(crate) fn open_shared(&self, holder: &QuotaHolder, most: u32) -> OpenStep {
        let mut holders = self.0.lock();
        let open = holders.get(holder).map_or(0, |streams| streams.open);
        if open >= most {
            return OpenStep::Full;
        }
        let streams = holders.entry(holder.clone()).or_default();
        let (sender, stream) = oneshot::channel();
        streams.waiting.push_back(Waiter { most, sender });
        let must_query = !std::mem::replace(&mut streams.is_queued, true);
        OpenStep::Waiting { stream, must_query }
    }

    /// Closes a stream. Returns whether the row is to be informed.
    pub(crate) fn close(&self, holder: &QuotaHolder) -> bool {
        let mut holders = self.0.lock();
        let Some(streams) = holders.get_mut(holder) else {
            return false;
        };
        streams.open = streams.open.saturating_sub(1);
        let must_query = streams.reported != Some(streams.open) && !streams.is_queued;
        streams.is_queued |= must_query;
        remove_if_unused(&mut holders, holder);
        must_query
    }

    /// Returns the next request to the row, which has an unknown number until it responds.
    pub(crate) fn next_request(&self, holder: &QuotaHolder) -> Option<StreamRowRequest> {
        let mut holders = self.0.lock();
        let streams = holders.get_mut(holder)?;
        streams.reported = None;
        let most = streams.waiting.front().map_or(0, |first| first.most);
        let alike = streams.waiting.iter().take_while(|it| it.most == most);
        Some(StreamRowRequest {
            open: streams.open,
            wanted: u32::try_from(alike.count()).unwrap_or(u32::MAX),
            most,
        })
    }

    /// Applies the response of the row to `request`: the number of opened streams. Returns the decisions,
    /// and whether the row is to be queried again.
    pub(crate) fn apply(
        &self,
        holder: &QuotaHolder,
        request: StreamRowRequest,
        granted: u32,
    ) -> (Decisions, bool) {
        let mut holders = self.0.lock();
        let Some(streams) = holders.get_mut(holder) else {
            return (Vec::new(), false);
        };
        let wanted = streams.waiting.len().min(request.wanted as usize);
        let waiters = streams.waiting.drain(..wanted).zip(0..);
        let decided = waiters.map(|(waiter, place)| (waiter.sender, place < granted));
        let decided = decided.collect();
        streams.open += granted;
        streams.reported = Some(request.open + granted);
        streams.is_queued = !streams.waiting.is_empty() || streams.reported != Some(streams.open);
        let query_again = streams.is_queued;
        remove_if_unused(&mut holders, holder);
        (decided, query_again)
    }

    /// Decides the calls that wait without the row.
    pub(crate) fn decide_locally(&self, holder: &QuotaHolder) -> Decisions {
        let mut holders = self.0.lock();
        let Some(streams) = holders.get_mut(holder) else {
            return Vec::new();
        };
        streams.is_queued = false;
        let mut decisions = Vec::new();
        for waiter in std::mem::take(&mut streams.waiting) {
            let is_opened = streams.open < waiter.most;
            streams.open += u32::from(is_opened);
            decisions.push((waiter.sender, is_opened));
        }
        remove_if_unused(&mut holders, holder);
        decisions
    }

    /// Queues all principals, also those whose closed streams the row may count. Returns those that were not queued before.
    pub(crate) fn queue_all(&self) -> Vec<QuotaHolder> {
        let mut holders = self.0.lock();
        let unqueued = holders.iter_mut().filter(|(_, streams)| !streams.is_queued);
        unqueued
            .map(|(holder, streams)| {
                streams.is_queued = true;
                holder.clone()
            })
            .collect()
    }

    /// Frees the memory of principals that were removed.
    pub(crate) fn shrink(&self) {
        self.0.lock().shrink_to_fit();
    }
}

fn remove_if_unused(holders: &mut HashMap<QuotaHolder, Streams>, holder: &QuotaHolder) {
    let is_unused = |streams: &Streams| {
        let is_known = streams.open == 0 && streams.reported == Some(0);
        is_known && streams.waiting.is_empty() && !streams.is_queued
    };
    if holders.get(holder).is_some_and(is_unused) {
        holders.remove(holder);
    }
}

#[cfg(test)]
mod tests {
    use domain::{PrincipalId, TenantId};

    use super::*;

    fn holder() -> QuotaHolder {
        QuotaHolder {
            tenant: TenantId::DEFAULT.parse().unwrap(),
            principal: PrincipalId::new("ada"),
        }
    }

    #[test]
    fn closed_streams_are_remembered_until_the_row_is_known_to_have_none() {
        let (streams, ada) = (OpenStreams::default(), holder());
        assert!(streams.open_locally(&ada, 1));
        let request = streams.next_request(&ada).unwrap();
        streams.apply(&ada, request, 0);
        assert!(streams.close(&ada), "the row is to be informed");
        // The statement is sent, and no response comes.
        assert_eq!(streams.next_request(&ada).unwrap().open, 0);
        streams.decide_locally(&ada);
        assert_eq!(streams.queue_all().len(), 1);
        let request = streams.next_request(&ada).unwrap();
        streams.apply(&ada, request, 0);
        assert!(streams.queue_all().is_empty(), "nothing is left");
    }

    #[test]
    fn streams_that_no_row_has_counted_are_forgotten_when_they_close() {
        let (streams, ada) = (OpenStreams::default(), holder());
        assert!(streams.open_locally(&ada, 1));
        assert!(!streams.close(&ada) || streams.decide_locally(&ada).is_empty());
        assert!(streams.queue_all().is_empty());
    }
}
