//! `cargo xtask websocket-cases`: tests the service's socket against the WebSocket protocol.

use anyhow::Result;

use dev_tools::process::{cargo, run as run_program};

/// Runs the test that plays all cases, and shows the result of each.
pub(crate) fn run() -> Result<()> {
    run_program(&mut cargo([
        "test",
        "--locked",
        "--package=api",
        "--test=api",
        "sockets::protocol::",
        "--",
        "--nocapture",
    ]))
}
