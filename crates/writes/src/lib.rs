//! What a write does, and what its events show. A use case hands a [`Command`] to [`Writes`], which commits it together with
//! others and returns its outcome.
//!
//! Each command is one file of [`commands`]: the facts that it needs, and what it decides on them.
//! Decisions are pure functions, so they are tested without a store. A store reads the facts, checks
//! the conditions and writes the rows (see [`ports::WriteStore`]).

mod batch;
mod command;
pub mod commands;
mod event_page;
mod event_rows;
mod known_facts;
mod planner;
mod queued;
mod selection;
mod writer;
mod writes;

pub use command::{Command, Part, Planned, Scope};
pub use event_page::ShownEvents;
pub use planner::Planner;
pub use writes::{WriteTimeouts, Writes};
