//! The interface as clients meet it: the built service on a port of its own, real HTTP, one
//! SQLite folder a test.

mod access;
#[cfg(feature = "address-guard")]
mod address_guard;
mod agent_changes;
mod agents;
mod answer;
mod bad_bodies;
mod bad_input;
mod browsers;
mod caller;
mod chat;
#[cfg(feature = "address-guard")]
mod client_address;
mod client_libraries;
mod config;
mod conversations;
mod documented;
mod drift;
mod engines;
mod escaped_paths;
mod events;
mod foreign_issuer;
mod foreign_users;
mod harness;
mod headers;
mod http_grammar;
mod injection;
mod introspection;
mod issuer;
mod key_lives;
mod keys;
mod messages;
mod metadata;
mod oauth;
mod oauth_clients;
mod openapi;
mod operations;
mod panics;
mod partner;
mod probe;
mod problems;
mod rate_limits;
mod raw;
mod redaction;
mod running_turns;
mod scope_coverage;
mod script;
mod slow_clients;
mod store_calls;
mod token_endpoint;
mod token_endpoint_errors;
mod turns;
mod user_coverage;
mod user_issuer;
mod walk;
