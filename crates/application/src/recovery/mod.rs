//! Recovery of turns that have lost their process: they are found, failed or promoted.

mod local_turns;
mod sweeper;

pub use local_turns::LocalTurnReconciler;
pub use sweeper::Sweeper;
