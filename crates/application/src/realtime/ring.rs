//! The newest events of a log.

use std::{collections::VecDeque, sync::Arc};

use domain::Seq;

use super::SerializedEvent;

/// Events kept at most.
const MOST_EVENTS: usize = 1_024;
/// Bytes kept at most.
const MOST_BYTES: usize = 4 * 1024 * 1024;

/// The newest events of a log: all of them after `start`, up to and including `end`.
#[derive(Debug)]
pub(super) struct Ring {
    events: VecDeque<Arc<SerializedEvent>>,
    bytes: usize,
    start: Seq,
    end: Seq,
}

impl Ring {
    /// Nothing yet: the log is read from here on.
    pub(super) fn beginning_at(position: Seq) -> Self {
        Self {
            events: VecDeque::new(),
            bytes: 0,
            start: position,
            end: position,
        }
    }

    /// The position up to which the log was read.
    pub(super) fn end(&self) -> Seq {
        self.end
    }

    /// Bytes of the events that it holds.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Takes in what the log holds after `end`, up to `end` as it is then. The oldest make room;
    /// what is deleted by now is emptied.
    pub(super) fn extend(&mut self, events: Vec<SerializedEvent>, end: Seq) {
        for event in events {
            self.empty_what_is_deleted_by(&event);
            self.bytes += event.weight();
            self.events.push_back(Arc::new(event));
        }
        self.end = end;
        while (self.events.len() > MOST_EVENTS || self.bytes > MOST_BYTES)
            && let Some(oldest) = self.events.pop_front()
        {
            self.bytes -= oldest.weight();
            self.start = oldest.seq();
        }
        if self.events.is_empty() {
            self.events.shrink_to_fit();
        }
    }

    fn empty_what_is_deleted_by(&mut self, deletion: &SerializedEvent) {
        if !deletion.logged.event.kind.is_deletion() {
            return;
        }
        for event in &mut self.events {
            if event.is_emptied_by(&deletion.logged.event) {
                let emptied = event.emptied();
                self.bytes = self.bytes + emptied.weight() - event.weight();
                *event = Arc::new(emptied);
            }
        }
    }

    /// The events after a position, oldest first; `None` when the ring does not reach back to it,
    /// or not yet forward to it.
    pub(super) fn after(&self, since: Seq) -> Option<impl Iterator<Item = &Arc<SerializedEvent>>> {
        if since < self.start || since > self.end {
            return None;
        }
        let first = self.events.partition_point(|event| event.seq() <= since);
        Some(self.events.range(first..))
    }
}
