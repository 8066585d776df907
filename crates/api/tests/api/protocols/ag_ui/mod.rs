//! AG-UI, as its clients request it.

mod client;
mod refusals;
mod runs;
mod threads;
