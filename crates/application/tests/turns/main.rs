//! Tests of turns in processes that each test starts itself, over the embedded store.

mod cancellation;
mod conflicts;
mod disconnected_callers;
mod fixture;
mod gated_writes;
mod memory_release;
mod process;
mod sweep;
