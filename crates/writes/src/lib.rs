//! The commands that change stored data, and what their events show. A use case hands a [`Command`]
//! to [`Writes`], which commits it together with others and returns its outcome.
//!
//! Each command is one file of `commands`: the facts that it needs, and what it decides on them.
//! Decisions are pure functions, so they are tested without a store. A store reads the facts, checks
//! the conditions and writes the rows (see [`ports::WriteStore`]).

// The values of the contract's tests. They name this crate, which the contract uses, by its name.
#[cfg(test)]
extern crate self as writes;
#[cfg(test)]
#[path = "../../contract/src/fixture/mod.rs"]
pub mod fixture;

mod batch;
mod command;
mod commands;
mod event_page;
mod event_rows;
mod handle;
mod known_facts;
mod outcome;
mod planner;
mod queued;
mod selection;
mod turns;
mod writer;

pub use command::{Command, Part, Planned, Scope};
pub use commands::{
    AnswerOutcome, AnswerRejection, AnswerTurn, BeginErasure, CallAnswer, CancelTurn,
    ChangeStaffMessage, ClaimKey, ClaimOutcome, CreateAgent, CreateConversation, CreateCredential,
    CreateFiles, CreateFilesOutcome, CreateNote, CreateNoteOutcome, DeleteAgent,
    DeleteConversation, DeleteFile, DeleteFileOutcome, DeleteNote, EndErasure, FailQueuedTurn,
    MayAnswer, NotStaff, RateMessage, RateOutcome, Rater, RecordSteps, RecordStepsOutcome,
    ReleaseTurn, RevokeCredential, SaveUser, SavedUser, StaffMessageChange, StaffMessageOutcome,
    SuspendOutcome, SuspendTurn, Sweep, SweepOutcome, TitleConversation, UndecidedCall,
    UpdateAgent, UpdateConversation, UpdateCredential, UserChange, UserRejection,
    WriteStaffMessage,
};
pub use event_page::ShownEvents;
pub use handle::{WriteTimeouts, Writes};
pub use outcome::{Committed, DeleteOutcome};
pub use planner::Planner;
pub use turns::{
    AnsweredMessage, BeginOutcome, BeginTurn, CancelOutcome, CompletedTurn, ConversationTarget,
    FinishOutcome, FinishTurn, PromotedTurn, RecordTurnOutcome, Reply, Supersession, TurnEnding,
    TurnMessages, UnusableFile,
};
