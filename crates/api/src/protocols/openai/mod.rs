//! Chat completions and models, as OpenAI clients request them.

mod error;

use super::Protocol;
use crate::operations::Operation;

/// The protocol.
pub const PROTOCOL: Protocol = Protocol {
    name: "openai",
    prefix: "/v1/",
    operations: OPERATIONS,
    error_body: error::body,
};

const OPERATIONS: &[Operation] = &[];
