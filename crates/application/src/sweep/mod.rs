//! The sweep: turns whose process has ended or has lost them: running turns fail, queued turns
//! are promoted or fail.

mod local_turns;
mod sweeper;

pub use local_turns::LocalTurnReconciler;
pub use sweeper::Sweeper;
