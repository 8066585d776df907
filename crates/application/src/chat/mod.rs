//! Chat: a message goes in, a turn is stored, the agent's reply comes out.
//!
//! [`ChatService::ask`] takes a message and answers once its turn is stored; the reply can be had
//! from [`Asked`] as a whole or as it grows. Turns are run by [`TurnRunner`] in tasks of their
//! own, whoever began them, and [`LiveTurns`] lets everybody in the process see how far they have
//! come.

mod answer;
mod answering;
mod asked;
mod claim;
mod command;
mod error;
mod finishing;
mod followed;
mod histories;
mod lanes;
mod live_turn;
mod live_turns;
mod looks;
mod place;
mod ports;
mod progress;
mod reply_cursor;
mod run_to_end;
mod runner;
mod said;
mod service;
mod signals;
mod stored;
#[cfg(test)]
mod stored_turn;
mod tool_meter;
mod turn_task;
mod unfinished;
mod written;

pub use asked::Asked;
pub use command::{ChatCommand, Chatted, OnBusy};
pub use error::ChatError;
pub use live_turn::{LiveTurn, TurnOutcome, TurnSubject};
pub use live_turns::LiveTurns;
pub use ports::ChatPorts;
pub use progress::Progress;
pub use reply_cursor::{ReplyCursor, ReplyPiece};
pub use runner::TurnRunner;
pub(crate) use said::Unreturned;
pub use said::{Said, ToolEvent, ToolStep};
pub use service::{ChatService, LONGEST_WAIT};
pub use signals::{TurnSignal, TurnSignals};
