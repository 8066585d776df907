//! The HTTP interface: routes, access, problems, documents, and the wiring of the whole service.
//!
//! Handlers parse and format; use cases in `application` and `access` decide. Only [`wiring`] names
//! adapters.

pub mod agents;
pub mod asyncapi;
pub mod auth;
pub mod body;
pub mod catalogue;
pub mod chat;
pub mod cli;
pub mod console;
pub mod conversations;
pub mod credentials;
pub mod documents;
pub mod events;
pub mod health;
mod html;
pub mod layers;
pub mod limits_endpoint;
pub mod nodes;
pub mod oauth;
pub mod openapi;
pub mod operations;
pub mod principal;
pub mod problem;
pub mod problem_catalogue;
pub mod protocols;
pub mod readiness;
pub mod reads;
pub mod regions;
pub mod request;
pub mod routes;
pub mod server;
pub mod settings;
pub mod socket;
pub mod sse;
pub mod state;
mod static_content;
pub mod subcommands;
pub mod system;
pub mod telemetry;
pub mod turns;
pub mod user_tokens;
pub mod wiring;
