//! Tests of turns in processes that each test starts itself, over the embedded store.

mod abandoned;
mod cancelled;
mod forgotten;
mod held;
mod process;
mod recovered;
mod world;
