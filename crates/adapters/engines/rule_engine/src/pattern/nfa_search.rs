//! A search that simulates a pattern's NFA: the fallback if the lazy DFA gives up, and the only
//! search that finds groups.
//!
//! The algorithm is the Pike VM of `regex_automata`, which cannot pause and needs seconds for a
//! large pattern on a long message.

use std::{mem, ops::Range, task::Poll};

use cpu_pool::TimeSlice;
use regex_automata::{
    nfa::thompson::{NFA, State},
    util::primitives::StateID,
};

use super::{Captures, Prefilter, next_candidate};

/// The number of NFA states that are visited between two checks of the clock: about 30 µs.
const STATES_PER_CHECK: usize = 4 * 1024;
/// The value of a slot that has no position.
const UNSET: u32 = u32::MAX;

/// A search that can pause between two bytes of the message.
#[derive(Debug)]
pub(super) struct NfaSearch {
    at: usize,
    current: ActiveStates,
    next: ActiveStates,
    stack: Vec<Frame>,
    /// The slots of the current thread.
    slots: Vec<u32>,
    /// The slots of the best match so far.
    matched: Option<Vec<u32>>,
}

/// NFA states in order of priority, each with the slots of its thread.
#[derive(Debug)]
struct ActiveStates {
    ids: Vec<StateID>,
    /// The index of a state in `ids`, if it is active.
    indices: Vec<u32>,
    slots: Vec<u32>,
    slots_per_state: usize,
}

#[derive(Debug)]
enum Frame {
    Explore(StateID),
    Restore { slot: usize, value: u32 },
}

impl NfaSearch {
    /// Starts a search at byte `start`. Without `keeps_captures` it ends at the first match and
    /// finds no groups.
    pub(super) fn new(nfa: &NFA, start: usize, keeps_captures: bool) -> Self {
        let slots = if keeps_captures {
            nfa.group_info().slot_len()
        } else {
            0
        };
        let states = nfa.states().len();
        Self {
            at: start,
            current: ActiveStates::new(states, slots),
            next: ActiveStates::new(states, slots),
            stack: Vec::new(),
            slots: vec![UNSET; slots],
            matched: None,
        }
    }

    /// Continues the search. Pending if the slice is over.
    pub(super) fn advance(
        &mut self,
        nfa: &NFA,
        prefilter: Option<&Prefilter>,
        message: &str,
        slice: TimeSlice,
    ) -> Poll<Option<Captures>> {
        let mut visited = 0;
        while self.at <= message.len() {
            if self.current.ids.is_empty() {
                if self.matched.is_some() {
                    break;
                }
                match next_candidate(prefilter, message, self.at) {
                    Some(candidate) => self.at = candidate,
                    None => return Poll::Ready(None),
                }
            }
            if self.matched.is_none() {
                self.slots.fill(UNSET);
                let start = nfa.start_anchored();
                close(
                    nfa,
                    message,
                    self.at,
                    start,
                    &mut self.slots,
                    &mut self.stack,
                    &mut self.current,
                );
            }
            visited += 1 + self.current.ids.len();
            self.step(nfa, message);
            self.at += 1;
            if self.matched.is_some() && self.slots.is_empty() {
                break;
            }
            if visited >= STATES_PER_CHECK {
                visited = 0;
                if slice.is_over() {
                    return Poll::Pending;
                }
            }
        }
        Poll::Ready(self.matched.take().map(|slots| captures(&slots)))
    }

    /// Advances every thread over the byte at the current position.
    fn step(&mut self, nfa: &NFA, message: &str) {
        let (at, bytes) = (self.at, message.as_bytes());
        for index in 0..self.current.ids.len() {
            let id = self.current.ids[index];
            let target = match nfa.state(id) {
                State::ByteRange { trans } => trans.matches(bytes, at).then_some(trans.next),
                State::Sparse(sparse) => sparse.matches(bytes, at),
                State::Dense(dense) => dense.matches(bytes, at),
                // An empty match within a character does not count.
                State::Match { .. } if message.is_char_boundary(at) => {
                    let slots = self.current.slots_of(id);
                    self.matched = Some(slots.to_vec());
                    // Threads of lower priority can no longer win.
                    break;
                }
                _ => None,
            };
            if let Some(target) = target {
                self.slots.copy_from_slice(self.current.slots_of(id));
                close(
                    nfa,
                    message,
                    at + 1,
                    target,
                    &mut self.slots,
                    &mut self.stack,
                    &mut self.next,
                );
            }
        }
        mem::swap(&mut self.current, &mut self.next);
        self.next.clear();
    }
}

/// Adds the state `start` and all states that it reaches without reading a byte, by priority.
fn close(
    nfa: &NFA,
    message: &str,
    at: usize,
    start: StateID,
    slots: &mut [u32],
    stack: &mut Vec<Frame>,
    into: &mut ActiveStates,
) {
    stack.push(Frame::Explore(start));
    while let Some(frame) = stack.pop() {
        let mut id = match frame {
            Frame::Restore { slot, value } => {
                slots[slot] = value;
                continue;
            }
            Frame::Explore(id) => id,
        };
        while into.insert(id) {
            id = match nfa.state(id) {
                State::Look { look, next } => {
                    if !nfa.look_matcher().matches(*look, message.as_bytes(), at) {
                        break;
                    }
                    *next
                }
                State::Union { alternates } => {
                    let Some((first, others)) = alternates.split_first() else {
                        break;
                    };
                    stack.extend(others.iter().rev().copied().map(Frame::Explore));
                    *first
                }
                State::BinaryUnion { alt1, alt2 } => {
                    stack.push(Frame::Explore(*alt2));
                    *alt1
                }
                State::Capture { next, slot, .. } => {
                    if let Some(value) = slots.get_mut(slot.as_usize()) {
                        let position = u32::try_from(at).unwrap_or(UNSET);
                        let value = mem::replace(value, position);
                        let slot = slot.as_usize();
                        stack.push(Frame::Restore { slot, value });
                    }
                    *next
                }
                State::ByteRange { .. }
                | State::Sparse(_)
                | State::Dense(_)
                | State::Fail
                | State::Match { .. } => {
                    into.slots_of_mut(id).copy_from_slice(slots);
                    break;
                }
            };
        }
    }
}

fn captures(slots: &[u32]) -> Captures {
    let group = |pair: &[u32]| match *pair {
        [start, end] if start != UNSET && end != UNSET => Some(Range {
            start: start as usize,
            end: end as usize,
        }),
        _ => None,
    };
    slots.chunks(2).map(group).collect()
}

impl ActiveStates {
    fn new(states: usize, slots_per_state: usize) -> Self {
        Self {
            ids: Vec::with_capacity(states),
            indices: vec![0; states],
            slots: vec![UNSET; states * slots_per_state],
            slots_per_state,
        }
    }

    /// Adds a state. Returns whether it is new.
    fn insert(&mut self, id: StateID) -> bool {
        let index = self.indices[id.as_usize()] as usize;
        if self.ids.get(index) == Some(&id) {
            return false;
        }
        self.indices[id.as_usize()] = u32::try_from(self.ids.len()).unwrap_or(u32::MAX);
        self.ids.push(id);
        true
    }

    fn clear(&mut self) {
        self.ids.clear();
    }

    fn slots_of(&self, id: StateID) -> &[u32] {
        let start = id.as_usize() * self.slots_per_state;
        &self.slots[start..start + self.slots_per_state]
    }

    fn slots_of_mut(&mut self, id: StateID) -> &mut [u32] {
        let start = id.as_usize() * self.slots_per_state;
        &mut self.slots[start..start + self.slots_per_state]
    }
}
