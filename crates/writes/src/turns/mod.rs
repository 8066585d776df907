//! The beginnings and ends of turns, as commands, and the turns that they write.

mod as_turn;
mod begin;
mod end;

pub use begin::{
    AnsweredMessage, BeginOutcome, BeginTurn, CompletedTurn, ConversationTarget, RecordTurnOutcome,
    Reply, Supersession, TurnMessages, UnusableFile,
};
pub use end::{CancelOutcome, FinishOutcome, FinishTurn, PromotedTurn, TurnEnding};
