//! The rules that decide if a turn may start. The writer applies them to facts that hold at its
//! commit.

/// The maximum number of turns that wait behind a running turn of a conversation.
pub const MAX_QUEUED_TURNS: u32 = 16;

/// The behaviour if another turn is running or queued.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum OnBusy {
    /// Queue the turn, in order of arrival.
    Queue,
    /// Reject the turn.
    Reject,
}

/// The turns of a conversation at the moment in which a new turn begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Occupancy {
    /// `true` if a turn is in progress.
    pub running: bool,
    /// The number of queued turns.
    pub queued: u32,
}

/// The decision about a new turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Admission {
    /// The turn starts now.
    Start,
    /// The turn waits at the end of the queue.
    Queue,
    /// The turn is rejected.
    Busy,
}

/// Decides by the conversation's occupancy only: no turn overtakes a queued one.
pub fn admit(occupancy: Occupancy, on_busy: OnBusy) -> Admission {
    match on_busy {
        _ if !occupancy.running && occupancy.queued == 0 => Admission::Start,
        OnBusy::Queue if occupancy.queued < MAX_QUEUED_TURNS => Admission::Queue,
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
    fn turns_start_one_at_a_time_in_order(
        #[case] running: bool,
        #[case] queued: u32,
        #[case] on_busy: OnBusy,
        #[case] expected: Admission,
    ) {
        assert_eq!(admit(Occupancy { running, queued }, on_busy), expected);
    }
}
