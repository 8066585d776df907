//! Turns in a process of the test's own, over the embedded store.

mod forgotten;
mod process;
mod recovered;
mod world;
