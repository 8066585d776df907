//! Turns that would be lost with their process: found, ended, and handed over.

mod own_turns;
mod sweeper;

pub use own_turns::OwnTurns;
pub use sweeper::Sweeper;
