//! Tests of turns in processes that each test starts itself, over the embedded store.

mod cancellation;
mod conflicts;
mod disconnected_callers;
mod expiry;
mod fixture;
mod gated_writes;
mod journal;
mod memory_release;
mod process;
mod resumption;
mod sweep;
mod titles;
mod tools;
