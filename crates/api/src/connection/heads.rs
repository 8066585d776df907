//! How long the heads of requests may take.

use std::{task::Context, time::Duration};

use super::{
    deadline::Deadline,
    progress::{Doing, Progress},
};

/// From its first byte to its last, a request's head may take so long; that of the first request
/// from the moment on at which its connection is there.
pub(super) const HEAD_DEADLINE: Duration = Duration::from_secs(5);
/// When the time is up, the client is looked at so much later again: this process may be what was
/// late.
const ANOTHER_LOOK: Duration = Duration::from_millis(100);
/// How often that happens to a client of which something came at the last moment: enough for this
/// process to get to it, too little for a client to live on.
const MOST_LOOKS: u32 = 10;

/// The time that the heads of one connection's requests take.
#[derive(Default)]
pub(super) struct Heads {
    deadline: Deadline,
    /// How many requests had begun when it was last looked at.
    begun: u64,
    /// Whether something came since the client was last waited for.
    has_come: bool,
    /// How often the client was looked at after its time.
    looks: u32,
}

impl Heads {
    /// Notes that so many bytes came.
    pub(super) fn note(&mut self, progress: &Progress, bytes: usize) {
        let begun = progress.begun();
        if begun != self.begun {
            self.begun = begun;
            self.deadline.clear();
            self.looks = 0;
        }
        self.has_come |= bytes > 0;
        let is_due = match progress.doing() {
            Doing::First => true,
            Doing::Waiting => bytes > 0,
            Doing::Receiving
            | Doing::Serving
            | Doing::HandedOver
            | Doing::Parting
            | Doing::Done => false,
        };
        if is_due {
            self.deadline.set(HEAD_DEADLINE);
        }
    }

    /// Whether a client that is waited for is late. What it has sent lies in its connection while
    /// this process is busy with something else, and was read only now, or is not yet: so whoever
    /// is late is looked at again before it is told so.
    pub(super) fn is_late(&mut self, progress: &Progress, context: &mut Context<'_>) -> bool {
        let has_come = std::mem::take(&mut self.has_come);
        if !matches!(progress.doing(), Doing::First | Doing::Waiting)
            || !self.deadline.has_passed(context)
        {
            return false;
        }
        let most = if has_come { MOST_LOOKS } else { 1 };
        if self.looks >= most {
            return true;
        }
        self.looks += 1;
        self.deadline.reset(ANOTHER_LOOK);
        // So that the task is woken then.
        self.deadline.has_passed(context)
    }
}
