//! The newest events of a log.

use std::{collections::VecDeque, sync::Arc};

use domain::{EventType, Seq};

use super::SerializedEvent;

/// The maximum number of events.
const MAX_EVENTS: usize = 1_024;
/// The maximum size of the events, in bytes.
const MAX_BYTES: usize = 4 * 1024 * 1024;

/// The newest events of a log: all of them after `start`, up to and including `end`.
#[derive(Debug)]
pub(super) struct RecentEvents {
    events: VecDeque<Arc<SerializedEvent>>,
    bytes: usize,
    start: Seq,
    end: Seq,
}

impl RecentEvents {
    /// Creates an empty buffer; the log is read from `position`.
    pub(super) fn beginning_at(position: Seq) -> Self {
        Self {
            events: VecDeque::new(),
            bytes: 0,
            start: position,
            end: position,
        }
    }

    /// Returns the position up to which the log was read.
    pub(super) fn end(&self) -> Seq {
        self.end
    }

    /// Returns the size of the events, in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Appends the events after the current end, and sets the new end. The oldest events are
    /// dropped to keep the limits. An event whose subject a later one deletes loses its data, and one whose
    /// conversation a later one moves to another user belongs to that user.
    pub(super) fn extend(&mut self, events: Vec<SerializedEvent>, end: Seq) {
        for event in events {
            if event.logged.event.kind == EventType::UserErased {
                self.forget_all(event.seq());
                continue;
            }
            self.remove_data_deleted_by(&event);
            self.move_with(&event);
            self.bytes += event.weight();
            self.events.push_back(Arc::new(event));
        }
        self.end = end;
        while (self.events.len() > MAX_EVENTS || self.bytes > MAX_BYTES)
            && let Some(oldest) = self.events.pop_front()
        {
            self.bytes -= oldest.weight();
            self.start = oldest.seq();
        }
        if self.events.is_empty() {
            self.events.shrink_to_fit();
        }
    }

    /// Forgets all events up to this one. Events before the erasure of a user may name it, other than in the store.
    fn forget_all(&mut self, to: Seq) {
        self.events.clear();
        self.bytes = 0;
        self.start = to;
    }

    fn remove_data_deleted_by(&mut self, deletion: &SerializedEvent) {
        if !deletion.logged.event.kind.is_deletion() {
            return;
        }
        for event in &mut self.events {
            if event.is_deleted_by(&deletion.logged.event) {
                let without_data = event.without_data();
                self.bytes = self.bytes + without_data.weight() - event.weight();
                *event = Arc::new(without_data);
            }
        }
    }

    fn move_with(&mut self, later: &SerializedEvent) {
        if later.logged.moved.is_none() {
            return;
        }
        for event in &mut self.events {
            if let Some(moved) = event.moved_by(&later.logged) {
                self.bytes = self.bytes + moved.weight() - event.weight();
                *event = Arc::new(moved);
            }
        }
    }

    /// Returns the events after a position, oldest first; `None` if the position is older than the
    /// buffer or newer than its end.
    pub(super) fn after(&self, since: Seq) -> Option<impl Iterator<Item = &Arc<SerializedEvent>>> {
        if since < self.start || since > self.end {
            return None;
        }
        let first = self.events.partition_point(|event| event.seq() <= since);
        Some(self.events.range(first..))
    }
}
