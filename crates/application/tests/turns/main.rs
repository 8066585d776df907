//! Turns in a process of the test's own, over the embedded store.

mod abandoned;
mod cancelled;
mod forgotten;
mod held;
mod process;
mod recovered;
mod world;
