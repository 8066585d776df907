//! The start of the part of a conversation that models receive, which moves in steps: between two steps, each request
//! begins as the one before, so that servers of models can reuse what they have computed.
//!
//! A start depends on the conversation alone, not on earlier starts, so every process finds the same: within a range
//! of possible starts it is the position with the most factors of two. Such a position remains the best one until the
//! range has moved past it, by at least half of its length.

use super::{HistoryLimits, HistoryMessage};
use crate::Role;

/// Returns the position from `first` to `last`, at least 1 each, with the most factors of two.
pub fn steadiest(first: i64, last: i64) -> i64 {
    let mut best = last.max(first);
    loop {
        let without_lowest_bit = best & (best - 1);
        if without_lowest_bit < first.max(1) {
            return best;
        }
        best = without_lowest_bit;
    }
}

/// Returns three quarters of a limit: what is left after a step.
pub const fn after_step(limit: usize) -> usize {
    limit - limit / 4
}

/// The size of a message in characters.
struct Size {
    seq: i64,
    text: usize,
    calls: usize,
    is_of_user: bool,
}

impl Size {
    fn of(message: &HistoryMessage) -> Self {
        Self {
            seq: message.seq,
            text: message.content.chars().count(),
            calls: message.calls.as_ref().map_or(0, |it| it.characters()),
            is_of_user: message.role == Role::User,
        }
    }

    /// Returns the size if the calls of messages up to `hidden` are left out; `None` if the message is, too: without
    /// its calls it is one without a reply.
    fn shown(&self, hidden: i64) -> Option<usize> {
        let is_hidden = self.calls > 0 && self.seq <= hidden;
        match (is_hidden, self.is_of_user) {
            (true, true) => None,
            (true, false) => Some(self.text),
            (false, _) => Some(self.text + self.calls),
        }
    }
}

impl HistoryLimits {
    /// Returns the part of a history that models receive; `None` if it is all of it. `history` is the newest part
    /// whose texts fit the limits, oldest first. The first turn whose calls do not fit hides those of all turns before
    /// it, but not their texts. If anything does not fit, so much is left out that more will fit later.
    pub fn in_steps(&self, history: &[HistoryMessage]) -> Option<Vec<HistoryMessage>> {
        let limit = self.characters() as usize;
        let counted = || history.iter().filter(|it| !it.is_withdrawn());
        // The position of the newest message that the limits of texts have cut off.
        let cut = counted().next().map_or(0, |first| first.seq - 1).max(0);
        let is_full = cut > 0 && counted().count() >= self.messages() as usize;
        let bytes =
            |it: &HistoryMessage| it.content.len() + it.calls.as_ref().map_or(0, |it| it.bytes());
        let fitting = if cut > 0 { after_step(limit) } else { limit };
        // There are at most as many characters as bytes.
        if !is_full && history.iter().map(bytes).sum::<usize>() <= fitting {
            return None;
        }
        let sizes: Vec<_> = history.iter().map(Size::of).collect();
        let hidden = hidden_calls(&sizes, limit);
        let mut start = first_shown(&sizes, limit, cut, hidden);
        if is_full {
            let step = i64::from((self.messages() / 4).max(1));
            start = start.max((cut + step - 1) / step * step);
        }
        let kept = history.iter().zip(&sizes).filter_map(|(message, size)| {
            size.shown(hidden).filter(|_| size.seq > start)?;
            let calls = message.calls.clone().filter(|_| size.seq > hidden);
            Some(HistoryMessage {
                calls,
                ..message.clone()
            })
        });
        Some(kept.collect())
    }
}

/// Returns the position up to which calls are hidden.
fn hidden_calls(sizes: &[Size], limit: usize) -> i64 {
    let newest_hidden = |limit| {
        let mut left: usize = limit;
        let mut newest_first = sizes.iter().rev();
        let hidden = newest_first.find(|it| {
            let size = it.text + it.calls;
            let fits = it.calls == 0 || size <= left;
            left = left.saturating_sub(size);
            !fits
        });
        hidden.map_or(0, |it| it.seq)
    };
    step_between(sizes, newest_hidden(limit), || {
        newest_hidden(after_step(limit))
    })
}

/// Returns the position after which messages are shown.
fn first_shown(sizes: &[Size], limit: usize, cut: i64, hidden: i64) -> i64 {
    let newest_cut = |limit| {
        let mut left: usize = limit;
        let mut newest_first = sizes.iter().rev();
        let cut = newest_first.find(|it| {
            let rest = it
                .shown(hidden)
                .map_or(Some(left), |size| left.checked_sub(size));
            left = rest.unwrap_or(left);
            rest.is_none()
        });
        cut.map_or(0, |it| it.seq)
    };
    step_between(sizes, newest_cut(limit).max(cut), || {
        newest_cut(after_step(limit))
    })
}

/// Returns the position of a step: at least `full`, the newest one that does not fit, and at most the newest one that
/// does not fit after a step. The last exchange is left out only if it does not fit.
fn step_between(sizes: &[Size], full: i64, after_step: impl FnOnce() -> i64) -> i64 {
    if full == 0 {
        return 0;
    }
    let before_last = sizes.iter().rev().nth(2).map_or(0, |it| it.seq);
    steadiest(full, after_step().min(before_last))
}

#[cfg(test)]
mod tests;
