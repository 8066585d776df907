//! A search with a pattern's lazy DFA, which suffices for nearly every message and needs a few
//! nanoseconds per byte.

use std::task::Poll;

use cpu_pool::TimeSlice;
use regex_automata::{
    Input,
    hybrid::{
        LazyStateID,
        dfa::{Cache, DFA},
    },
};

use super::{Prefilter, next_candidate};

/// The number of bytes between two checks of the clock: usually 500 ns, but up to some milliseconds
/// if each byte builds a new state of the largest pattern.
const BYTES_PER_CHECK: usize = 256;

/// A search that can pause between two bytes of the message.
#[derive(Debug)]
pub(super) struct DfaSearch {
    at: usize,
    state: LazyStateID,
}

/// The outcome of a search.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum DfaOutcome {
    Match,
    NoMatch,
    /// The DFA cannot decide: a word boundary next to a character beyond ASCII, or a pattern that
    /// needs a new state for nearly every byte.
    GaveUp,
}

impl DfaSearch {
    /// Starts a search at byte `start`; `None` if the DFA cannot start there.
    pub(super) fn new(dfa: &DFA, cache: &mut Cache, message: &str, start: usize) -> Option<Self> {
        cache.search_start(start);
        Some(Self {
            at: start,
            state: start_state(dfa, cache, message, start)?,
        })
    }

    /// Continues the search. Pending if the slice is over. `cache` must be that of [`Self::new`],
    /// not used by another search since.
    pub(super) fn advance(
        &mut self,
        dfa: &DFA,
        cache: &mut Cache,
        prefilter: Option<&Prefilter>,
        message: &str,
        slice: TimeSlice,
    ) -> Poll<DfaOutcome> {
        while self.at < message.len() {
            let chunk_end = message.len().min(self.at + BYTES_PER_CHECK);
            if let Some(outcome) = self.read(dfa, cache, prefilter, message, chunk_end) {
                return Poll::Ready(outcome);
            }
            cache.search_update(self.at);
            if slice.is_over() {
                return Poll::Pending;
            }
        }
        Poll::Ready(match dfa.next_eoi_state(cache, self.state) {
            Ok(state) if state.is_match() => DfaOutcome::Match,
            Ok(_) => DfaOutcome::NoMatch,
            Err(_) => DfaOutcome::GaveUp,
        })
    }

    /// Reads up to `chunk_end`, or further if the prefilter skips ahead. Returns the outcome if it
    /// is known before the end of the message.
    fn read(
        &mut self,
        dfa: &DFA,
        cache: &mut Cache,
        prefilter: Option<&Prefilter>,
        message: &str,
        chunk_end: usize,
    ) -> Option<DfaOutcome> {
        while self.at < chunk_end {
            let byte = message.as_bytes()[self.at];
            let Ok(state) = dfa.next_state(cache, self.state, byte) else {
                return Some(DfaOutcome::GaveUp);
            };
            self.state = state;
            self.at += 1;
            if !state.is_tagged() {
                continue;
            }
            if state.is_match() {
                return Some(DfaOutcome::Match);
            }
            if state.is_dead() {
                return Some(DfaOutcome::NoMatch);
            }
            if state.is_quit() {
                return Some(DfaOutcome::GaveUp);
            }
            // A start state: no match has started here.
            let Some(candidate) = next_candidate(prefilter, message, self.at) else {
                return Some(DfaOutcome::NoMatch);
            };
            if candidate > self.at {
                self.at = candidate;
                match start_state(dfa, cache, message, candidate) {
                    Some(state) => self.state = state,
                    None => return Some(DfaOutcome::GaveUp),
                }
            }
        }
        None
    }
}

fn start_state(dfa: &DFA, cache: &mut Cache, message: &str, at: usize) -> Option<LazyStateID> {
    let input = Input::new(message).span(at..message.len());
    dfa.start_state_forward(cache, &input).ok()
}
