//! What measuring and breaking stand on: programs built as they are shipped, started, and talked to
//! by a client that costs little.

pub(crate) mod binaries;
pub(crate) mod http;
pub(crate) mod listening;
pub(crate) mod load;
pub(crate) mod memory;
pub(crate) mod processor;
pub(crate) mod service;
pub(crate) mod socket;
