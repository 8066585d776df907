//! Request bodies: from bytes to a command, or to all faults.
//!
//! A body is parsed once ([`domain::json`]), validated against the published OpenAPI document
//! ([`Schemas`]), and only then converted to its type. The domain checks afterwards what a schema
//! cannot express.

mod parse;
mod schema;
#[cfg(test)]
mod tests;
mod validation;

pub use parse::{BodyError, Unchecked, parse_value, read, typed};
pub use schema::{SchemaError, Schemas};
