//! The sweep: turns whose process has ended or has lost them: running turns fail, queued turns
//! are promoted or fail.

mod local_turn_reconciler;
mod sweeper;

pub use local_turn_reconciler::LocalTurnReconciler;
pub use sweeper::Sweeper;
