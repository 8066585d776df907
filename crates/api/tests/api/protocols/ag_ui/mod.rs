//! AG-UI, as its clients request it.

mod client;
mod clients;
mod refusals;
mod runs;
mod threads;
