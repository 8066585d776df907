//! AG-UI, the protocol between agents and user interfaces.

mod error;

use super::Protocol;
use crate::operations::Operation;

/// The protocol.
pub const PROTOCOL: Protocol = Protocol {
    name: "ag_ui",
    prefix: "/ag-ui/",
    operations: OPERATIONS,
    error_body: error::body,
};

const OPERATIONS: &[Operation] = &[];
