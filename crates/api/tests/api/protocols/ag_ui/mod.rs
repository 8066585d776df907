//! AG-UI, as its clients request it.

mod client;
mod clients;
mod ends;
mod joins;
mod nodes;
mod refusals;
mod runs;
mod threads;
