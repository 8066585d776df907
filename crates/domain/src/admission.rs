//! Whether a turn may start: decided in the store, under the tenant's lock, by these rules.

use crate::sizes::WAITING_TURNS;

/// What to do when a turn is already in progress.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum OnBusy {
    /// Wait in order of arrival.
    Queue,
    /// Refuse.
    Reject,
}

/// How a conversation stands when a turn asks to begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Occupancy {
    /// Whether a turn is in progress.
    pub running: bool,
    /// How many turns wait.
    pub waiting: u32,
}

/// The answer to a turn that asks to begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Admission {
    /// It may start now.
    Start,
    /// It waits at the end of the queue.
    Queue,
    /// It is refused.
    Busy,
}

/// Decides by the conversation's occupancy alone: nobody overtakes a turn that waits.
pub fn admit(occupancy: Occupancy, on_busy: OnBusy) -> Admission {
    match on_busy {
        _ if !occupancy.running && occupancy.waiting == 0 => Admission::Start,
        OnBusy::Queue if occupancy.waiting < WAITING_TURNS => Admission::Queue,
        OnBusy::Queue | OnBusy::Reject => Admission::Busy,
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case(false, 0, OnBusy::Reject, Admission::Start)]
    #[case(false, 1, OnBusy::Queue, Admission::Queue)]
    #[case(true, 0, OnBusy::Queue, Admission::Queue)]
    #[case(true, 15, OnBusy::Queue, Admission::Queue)]
    #[case(true, 16, OnBusy::Queue, Admission::Busy)]
    #[case(true, 0, OnBusy::Reject, Admission::Busy)]
    #[case(false, 1, OnBusy::Reject, Admission::Busy)]
    fn one_at_a_time_in_order(
        #[case] running: bool,
        #[case] waiting: u32,
        #[case] on_busy: OnBusy,
        #[case] expected: Admission,
    ) {
        assert_eq!(admit(Occupancy { running, waiting }, on_busy), expected);
    }
}
