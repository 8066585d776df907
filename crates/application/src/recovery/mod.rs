//! Turns that would be lost with their process: found, ended, and handed over.

mod local_turns;
mod sweeper;

pub use local_turns::LocalTurnReconciler;
pub use sweeper::Sweeper;
