//! Request bodies: bytes in, a command or every fault out.
//!
//! A body is read once (`json`), checked against the published OpenAPI document ([`Schemas`])
//! and only then given its type. What a schema cannot say is for the domain to check afterwards.

mod excerpt;
mod explain;
mod faults;
mod json;
mod parse;
mod schema;
#[cfg(test)]
mod tests;
mod union;

pub use faults::MOST_FAULTS;
pub use json::MOST_DEPTH;
pub use parse::{BodyError, Unchecked, parse_value, read, typed};
pub use schema::{SchemaError, Schemas};
