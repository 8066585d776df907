//! The number of open streams of each principal.

use std::{collections::HashMap, sync::Arc};

use domain::QuotaHolder;
use parking_lot::Mutex;

/// The numbers of open streams, by principal.
#[derive(Default)]
pub(crate) struct OpenStreams {
    counts: Mutex<HashMap<QuotaHolder, u32>>,
}

impl OpenStreams {
    /// Opens a stream of this principal, unless it has `max` open ones already.
    pub(crate) fn open(self: &Arc<Self>, holder: &QuotaHolder, max: u32) -> Option<OpenStream> {
        let mut counts = self.counts.lock();
        match counts.get_mut(holder) {
            Some(count) if *count >= max => return None,
            Some(count) => *count += 1,
            None if max == 0 => return None,
            None => {
                counts.insert(holder.clone(), 1);
            }
        }
        Some(OpenStream {
            streams: Arc::clone(self),
            holder: holder.clone(),
        })
    }

    /// Frees the memory of principals that were removed.
    pub(crate) fn shrink(&self) {
        self.counts.lock().shrink_to_fit();
    }

    fn close(&self, holder: &QuotaHolder) {
        let mut counts = self.counts.lock();
        if let Some(count) = counts.get_mut(holder) {
            *count -= 1;
            if *count == 0 {
                counts.remove(holder);
            }
        }
    }
}

/// An open stream. Dropping it closes the stream.
pub(crate) struct OpenStream {
    streams: Arc<OpenStreams>,
    holder: QuotaHolder,
}

impl Drop for OpenStream {
    fn drop(&mut self) {
        self.streams.close(&self.holder);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limiter::fixture::holder;

    #[test]
    fn a_closed_stream_makes_room_for_another() {
        let streams = Arc::new(OpenStreams::default());
        let ada = holder("ada");
        let first = streams.open(&ada, 2);
        let second = streams.open(&ada, 2);
        assert!(first.is_some() && second.is_some());
        assert!(streams.open(&ada, 2).is_none());
        drop(first);
        assert!(streams.open(&ada, 2).is_some());
    }

    #[test]
    fn a_lowered_limit_applies_while_more_streams_are_open() {
        let streams = Arc::new(OpenStreams::default());
        let ada = holder("ada");
        let open: Vec<_> = (0..3).map(|_| streams.open(&ada, 3).unwrap()).collect();
        assert!(streams.open(&ada, 1).is_none());
        assert!(streams.open(&ada, 0).is_none());
        drop(open);
        assert!(streams.open(&ada, 1).is_some());
    }

    #[test]
    fn a_principal_is_removed_with_its_last_stream() {
        let streams = Arc::new(OpenStreams::default());
        let open: Vec<_> = (0..10_000)
            .map(|number| holder(&format!("user {number}")))
            .map(|user| streams.open(&user, 1).unwrap())
            .collect();
        assert!(streams.open(&holder("refused at once"), 0).is_none());
        assert_eq!(streams.counts.lock().len(), 10_000);
        drop(open);
        assert_eq!(streams.counts.lock().len(), 0);
        streams.shrink();
        assert_eq!(streams.counts.lock().capacity(), 0);
    }
}
