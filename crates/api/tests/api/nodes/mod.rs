//! Two services over one database: whose turn a turn is, and who takes it over.

mod cancelled;
mod draining;
mod histories;
mod pair;
mod queued;
mod taken_for_dead;
