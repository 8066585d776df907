//! The UI message stream of the AI SDK.

mod error;

use super::Protocol;
use crate::operations::Operation;

/// The protocol.
pub const PROTOCOL: Protocol = Protocol {
    name: "ai_sdk",
    prefix: "/ai-sdk/",
    operations: OPERATIONS,
    error_body: error::body,
};

const OPERATIONS: &[Operation] = &[];
