//! The interface as clients meet it: the built service on a port of its own, real HTTP, one
//! SQLite folder a test.

mod agents;
mod answer;
mod documented;
mod harness;
mod probe;
mod raw;
mod redaction;
mod script;
