//! Puts the service together: command line, settings, the wiring of adapters and surfaces, and the
//! lifecycle of the process. Only [`wiring`] names adapters.

pub mod cli;
pub mod operations;
pub mod routes;
pub mod service;
pub mod settings;
pub mod subcommands;
pub mod system;
pub mod telemetry;
pub mod wiring;
