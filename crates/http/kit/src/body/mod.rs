//! Request bodies: from bytes to a command, or to all faults.
//!
//! A body is parsed once ([`domain::json`]), validated against the published OpenAPI document
//! ([`Schemas`]), and only then converted to its type. The domain checks afterwards what a schema
//! cannot express.

mod parse;
mod schema;
mod validation;
mod without_files;

pub use parse::{BodyError, Unchecked, parse_value, read, read_with_files, typed};
pub use schema::{SchemaError, Schemas};

/// The maximum size in bytes of a body whose files it contains: that of a file in base64, and text beside it.
pub const MAX_BODY_WITH_FILES: usize = 32 * 1024 * 1024;

/// The pattern of the channels of sockets.
pub const CHANNEL_PATTERN: &str = "^(tenant|agent:.+|conversation:.+)$";

/// The members of an agent that the body of its configuration may contain; they keep their values
/// when absent.
pub const AGENT_MEMBERS: [&str; 3] = ["name", "personality", "capabilities"];

/// A component, or a member of one, is missing in the OpenAPI document.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the OpenAPI document has no '{0}'")]
pub struct MissingComponent(pub String);
