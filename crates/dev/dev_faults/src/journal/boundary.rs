//! The boundaries of a turn with three tools.

use super::{
    postgres_messages::Write,
    record::{Point, Tool},
};

/// The place in a turn at which something happens to its process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Boundary {
    ModelAsked,
    CallsBegin,
    InCalls,
    CallEnds,
    EndStored,
    NextRequest,
    TurnEnds,
    Answered,
    KilledTwice,
    StoreAway,
    Paused,
}

impl Boundary {
    pub(super) const ALL: [Self; 11] = [
        Self::ModelAsked,
        Self::CallsBegin,
        Self::InCalls,
        Self::CallEnds,
        Self::EndStored,
        Self::NextRequest,
        Self::TurnEnds,
        Self::Answered,
        Self::KilledTwice,
        Self::StoreAway,
        Self::Paused,
    ];

    /// The description in reports.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::ModelAsked => "kill -9 while a model is asked",
            Self::CallsBegin => "kill -9 around the write before calls",
            Self::InCalls => "kill -9 in calls",
            Self::CallEnds => "kill -9 around the write after a call",
            Self::EndStored => "kill -9 with one call ended and others running",
            Self::NextRequest => "kill -9 in the request after a call",
            Self::TurnEnds => "kill -9 around the write that ends a turn",
            Self::Answered => "kill -9 around an approval and in its call",
            Self::KilledTwice => "kill -9 twice without progress",
            Self::StoreAway => "the store away when calls end",
            Self::Paused => "SIGSTOP beyond the lease, and SIGCONT",
        }
    }

    /// The name in those of databases and logs.
    pub(super) const fn slug(self) -> &'static str {
        match self {
            Self::ModelAsked => "model",
            Self::CallsBegin => "begin",
            Self::InCalls => "calls",
            Self::CallEnds => "ends",
            Self::EndStored => "stored",
            Self::NextRequest => "next",
            Self::TurnEnds => "finish",
            Self::Answered => "answer",
            Self::KilledTwice => "twice",
            Self::StoreAway => "away",
            Self::Paused => "paused",
        }
    }

    /// The points at which a turn is held before it happens. `chosen` is any number; a turn that calls all
    /// tools `at_once` has one round.
    pub(super) fn holds(self, chosen: usize, at_once: bool) -> Vec<Point> {
        let tool = Tool::ALL[chosen % 3];
        let calls = Tool::ALL.map(Point::Call).to_vec();
        let round = if at_once { 0 } else { chosen % 3 };
        match self {
            Self::ModelAsked => vec![Point::Model(0)],
            Self::InCalls | Self::CallEnds | Self::StoreAway if at_once => calls,
            Self::InCalls | Self::CallEnds | Self::StoreAway | Self::EndStored => {
                vec![Point::Call(tool)]
            }
            Self::Paused if chosen.is_multiple_of(2) => vec![Point::Call(tool)],
            Self::CallsBegin | Self::Paused => vec![Point::Model(round)],
            Self::NextRequest => vec![Point::Model(if at_once { 3 } else { round + 1 })],
            Self::TurnEnds => vec![Point::Model(3)],
            Self::Answered if chosen.is_multiple_of(2) => vec![Point::Call(Tool::Refund)],
            Self::Answered => Vec::new(),
            Self::KilledTwice => calls.into_iter().chain((1..=3).map(Point::Model)).collect(),
        }
    }

    /// The number of these points that a turn reaches at the same time.
    pub(super) const fn reached(self, at_once: bool) -> usize {
        match self {
            Self::InCalls | Self::CallEnds | Self::StoreAway | Self::KilledTwice if at_once => 3,
            _ => 1,
        }
    }

    /// The write around which a process is killed, and the number of such writes that may come before.
    pub(super) const fn write(self) -> Option<(Write, u32)> {
        match self {
            Self::CallsBegin => Some((Write::Steps, 1)),
            Self::CallEnds => Some((Write::Steps, 3)),
            Self::TurnEnds => Some((Write::End, 2)),
            Self::Answered => Some((Write::Assignment, 1)),
            _ => None,
        }
    }
}
