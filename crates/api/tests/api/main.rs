//! The interface as clients meet it: the built service on a port of its own, real HTTP, one
//! SQLite folder a test.

mod access;
mod agent_changes;
mod agents;
mod answer;
mod bad_bodies;
mod bad_input;
mod browsers;
mod caller;
mod chat;
mod config;
mod conversations;
mod documented;
mod drift;
mod engines;
mod events;
mod harness;
mod headers;
mod http_grammar;
mod injection;
mod messages;
mod openapi;
mod operations;
mod panics;
mod probe;
mod problems;
mod raw;
mod redaction;
mod running_turns;
mod scope_coverage;
mod script;
mod slow_clients;
mod store_calls;
mod turns;
