//! The sweep ends or promotes turns whose process has ended or has lost them.

mod local_turn_reconciler;
mod sweeper;

pub use local_turn_reconciler::LocalTurnReconciler;
pub use sweeper::Sweeper;
